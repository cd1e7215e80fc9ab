import ts from 'typescript';

const program = /^(src|packages\/[^/]+\/src)\/(?!.*\.test\.ts$)/;
const docComment = /\/\*\*[^*/][\s\S]*?\*\//g;
const fragment = /^\/\*\*[\s*]*(What|Of|How|Whether|Where|Those|When|Which|Who|Whose|Why|The same)\b/;
/** Past participles without the regular ending, and nouns that have it. */
const irregular = new Set(
  'Begun Bound Built Caught Done Drawn Found Given Gone Held Kept Known Lent Lost Made Met Said Seen Sent Shown Spent Taken Told Torn Worn Won Written'.split(
    ' ',
  ),
);
const nouns = new Set(['Feed', 'Need', 'Seed', 'Speed']);
const isParticiple = (name) =>
  /^[A-Z][a-z]+$/.test(name) && !nouns.has(name) && (name.endsWith('ed') || irregular.has(name));

/**
 * The words of a tree: doc comments that begin without a subject, types named by a bare participle, and type names with several meanings.
 * @returns {{
 *   comments: number, fragments: number, participles: string[], sharedNames: string[],
 *   byRoom: Map<string, { comments: number, fragments: number }>
 * }}
 */
export function wordsOf(files) {
  const byRoom = new Map();
  const declared = new Map();
  for (const { path, text, ast } of files.values()) {
    const [top, room] = path.split('/');
    const key = top === 'src' || top === 'packages' ? `${top}/${room}` : top;
    const counts = byRoom.get(key) ?? { comments: 0, fragments: 0 };
    byRoom.set(key, counts);
    for (const [comment] of text.matchAll(docComment)) {
      counts.comments += 1;
      if (fragment.test(comment)) counts.fragments += 1;
    }
    if (program.test(path))
      for (const type of typesOf(ast)) declared.set(type.name, [...(declared.get(type.name) ?? []), { ...type, path }]);
  }
  const sum = (of) => [...byRoom.values()].reduce((total, counts) => total + of(counts), 0);
  const named = ([name, places]) => `${name}: ${places.map(({ path }) => path).join(', ')}`;
  return {
    comments: sum(({ comments }) => comments),
    fragments: sum(({ fragments }) => fragments),
    byRoom,
    participles: [...declared].filter(([name]) => isParticiple(name)).map(named),
    sharedNames: [...declared]
      .map(([name, places]) => [name, places.filter(({ isExported }) => isExported)])
      .filter(([, places]) => new Set(places.map(({ path }) => path)).size > 1)
      .map(named),
  };
}

function typesOf(ast) {
  return ast.statements
    .filter((node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node))
    .filter(({ name }) => name)
    .map((node) => ({
      name: node.name.text,
      isExported: ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false,
    }));
}
