/** Each after those of the others that it needs, and else in the order given. A circle begins with the last of it that is come to. */
export function inOrder(ids: readonly string[], needs: (id: string) => readonly string[]): string[] {
  const known = new Set(ids);
  const seen = new Set<string>();
  const ordered: string[] = [];
  for (const id of ids) {
    // Without recursion: a chain may be longer than the stack.
    const way = seen.has(id) ? [] : [id];
    for (let at = way.at(-1); at !== undefined; at = way.at(-1)) {
      seen.add(at);
      const next = needs(at).find((each) => known.has(each) && !seen.has(each));
      if (next !== undefined) way.push(next);
      else ordered.push(way.pop()!);
    }
  }
  return ordered;
}
