/**
 * Circles of files: groups whose members all reach one another by their imports, type imports included. None of such files can be
 * read, tested or moved without all the others.
 * @param {Map<string, import('./tree.mjs').SourceFile>} files
 * @returns {string[][]} the files of each circle, the largest circle first
 */
export function circlesOf(files) {
  const inner = [...files.values()].filter(({ path }) => isCounted(path));
  const targets = new Map(inner.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]));
  return stronglyConnected(targets)
    .filter((paths) => paths.length > 1)
    .map((paths) => paths.sort())
    .sort((a, b) => b.length - a.length || a[0].localeCompare(b[0]));
}

/** The program, in src and packages; tests may import what they like. */
const isCounted = (path) => /^(src|packages)\//.test(path) && !path.endsWith('.test.ts');

/**
 * Tarjan's algorithm, with a stack of its own in place of recursion.
 * @param {Map<string, string[]>} targets what each node points to; what is no key is left out
 */
function stronglyConnected(targets) {
  const found = [];
  const index = new Map();
  const low = new Map();
  const open = [];
  const isOpen = new Set();
  for (const root of targets.keys()) {
    if (index.has(root)) continue;
    const calls = [];
    const enter = (node) => {
      index.set(node, index.size);
      low.set(node, index.get(node));
      open.push(node);
      isOpen.add(node);
      calls.push({ node, next: targets.get(node).values() });
    };
    enter(root);
    while (calls.length > 0) {
      const { node, next } = calls.at(-1);
      const { value: target, done } = next.next();
      if (done) {
        calls.pop();
        const caller = calls.at(-1)?.node;
        if (caller) low.set(caller, Math.min(low.get(caller), low.get(node)));
        if (low.get(node) !== index.get(node)) continue;
        const members = open.splice(open.indexOf(node));
        for (const member of members) isOpen.delete(member);
        found.push(members);
      } else if (!targets.has(target)) continue;
      else if (!index.has(target)) enter(target);
      else if (isOpen.has(target)) low.set(node, Math.min(low.get(node), index.get(target)));
    }
  }
  return found;
}
