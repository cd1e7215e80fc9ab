/** A host or rack as ids of tasks name it: `-` stands between their parts. */
export const inTaskIds = (name: string): string => name.replaceAll('-', '_');

/** Whether one of the texts has the query in it. */
export const has = (query: string, ...texts: string[]): boolean => {
  const wanted = query.trim().toLowerCase();
  return wanted === '' || texts.some((text) => text.toLowerCase().includes(wanted));
};

/** Whether a task is found by a part of its id, or of the name of its machine or rack as that is written anywhere. */
export const hasTask = (query: string, task: { id: string; host: string; rackId: string }): boolean =>
  has(query, task.id) || has(inTaskIds(query), task.host, task.rackId);

/** How well a text matches: smaller is better, undefined not at all. */
export type Matcher = (text: string) => number | undefined;

/**
 * What a person types to find an id: a part of it; letters of it in their order; with capital letters the beginnings of its words
 * (`MyS` finds my-service); with `*` or `?` a pattern for all of it.
 */
export function matcherOf(typed: string): Matcher {
  const query = typed.trim();
  if (query === '') return () => 0;
  if (/[*?]/.test(query)) return globMatcher(query);
  const initials = /[A-Z]/.test(query) ? initialsMatcher(query) : undefined;
  const lower = query.toLowerCase();
  return (text) => {
    const low = text.toLowerCase();
    const at = low.indexOf(lower);
    if (at === 0) return low.length === lower.length ? 0 : 1;
    if (at > 0) return /[^a-z0-9]/.test(low[at - 1]!) ? 2 : 3;
    const byInitials = initials?.(text);
    if (byInitials !== undefined) return byInitials;
    const spread = spreadOf(low, lower);
    return spread === undefined ? undefined : 5 + spread;
  };
}

function globMatcher(query: string): Matcher {
  const pattern = query
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const whole = new RegExp(`^${pattern}$`, 'i');
  return (text) => (whole.test(text) ? 1 : undefined);
}

function initialsMatcher(query: string): Matcher {
  const parts = (query.match(/[A-Z]?[^A-Z]*/g) ?? []).filter((part) => part !== '').map((part) => part.toLowerCase());
  return (text) => {
    const words = text.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
    let at = 0;
    for (const part of parts) {
      while (at < words.length && !words[at]!.startsWith(part)) at++;
      if (at === words.length) return undefined;
      at++;
    }
    return 4;
  };
}

/** How far apart the letters are, between 0 and 1; undefined, where they are not all there. */
function spreadOf(text: string, letters: string): number | undefined {
  let at = -1;
  let first = -1;
  for (const letter of letters) {
    at = text.indexOf(letter, at + 1);
    if (at < 0) return undefined;
    if (first < 0) first = at;
  }
  return (at - first + 1 - letters.length) / text.length;
}

/** The best of them, in order; equal ones by their text. */
export function best<T>(all: readonly T[], textOf: (each: T) => string, typed: string, limit: number): readonly T[] {
  const match = matcherOf(typed);
  const found: { each: T; rank: number }[] = [];
  for (const each of all) {
    const rank = match(textOf(each));
    if (rank !== undefined) found.push({ each, rank });
  }
  const compare = (a: { each: T; rank: number }, b: { each: T; rank: number }): number =>
    a.rank - b.rank || textOf(a.each).length - textOf(b.each).length || (textOf(a.each) < textOf(b.each) ? -1 : 1);
  return found
    .sort(compare)
    .slice(0, limit)
    .map(({ each }) => each);
}
