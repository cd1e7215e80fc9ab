/*
 * Keys of uploaded files follow a pattern: "%requestId/%Y/%m/%taskId_%index-%s-%filename". A search knows some of the
 * variables beforehand and looks for what begins so.
 */

const variables = [
  'requestId',
  'group',
  'tag',
  'deployId',
  'host',
  'taskId',
  'filename',
  'fileext',
  'guid',
  'index',
  'Y',
  'm',
  'd',
  'H',
  's',
] as const;
export type KeyVariable = (typeof variables)[number];
export type PatternPart = { text: string } | { variable: KeyVariable };

const expression = new RegExp(`%(${variables.join('|')})`, 'g');

export function patternParts(pattern: string): PatternPart[] {
  const parts: PatternPart[] = [];
  let read = 0;
  for (const match of pattern.matchAll(expression)) {
    if (match.index > read) parts.push({ text: pattern.slice(read, match.index) });
    parts.push({ variable: match[1] as KeyVariable });
    read = match.index + match[0].length;
  }
  if (read < pattern.length) parts.push({ text: pattern.slice(read) });
  return parts;
}

/** The name of a group is any text: no directory of a key and no variable comes from it. */
export const groupInKey = (group: string): string => group.replaceAll(/[/%]/g, '_');

/**
 * Head of a pattern, up to the variable that names the owner, which separates requests. Behind %requestId the directory
 * ends, because 'web' and 'web-' begin keys of 'web-api' as well; a task id shows by itself where that of its request
 * ends (`isOwn`).
 */
export const headOf = (pattern: string): string | undefined => /^.*?(%requestId\/|%taskId)/s.exec(pattern)?.[0];

/**
 * True when the keys of a pattern name their owner at their beginning, which is all that a search knows: otherwise a
 * caller who may read one request reads all. Text, parts of the date, and the group may precede the owner; the group
 * has no fixed length and so ends with its directory.
 */
export function separatesRequests(pattern: string): boolean {
  const before = patternParts(headOf(pattern)?.replace(/%(requestId\/|taskId)$/, '') ?? '%filename');
  const afterGroup = before.slice(before.findLastIndex((part) => 'variable' in part && part.variable === 'group') + 1);
  return (
    before.every((part) => 'text' in part || mayPrecede.includes(part.variable)) &&
    (afterGroup.length === before.length || afterGroup.some((part) => 'text' in part && part.text.includes('/')))
  );
}

const mayPrecede: readonly KeyVariable[] = ['group', 'Y', 'm', 'd', 'H'];

/**
 * True when keys of one request by the first pattern may begin like those of another by the second. By '%requestId/' a
 * request called 'gc' would have what all requests have by 'gc/%requestId/'.
 */
export function mayMeet(one: string, other: string): boolean {
  const [a, b] = [headOf(one) ?? '', headOf(other) ?? ''];
  // In keys of one form the owner stands in one place.
  return a !== b && canBeginAlike(charactersOf(a), charactersOf(b));
}

/** A character of a key, or one and more of its kind. */
interface Characters {
  kind: RegExp | string;
  isRun?: boolean;
}

const digits = (count: number): Characters[] => Array.from({ length: count }, () => ({ kind: /\d/ }));
const kinds: Partial<Record<KeyVariable, Characters[]>> = {
  group: [{ kind: /[^/%]/, isRun: true }],
  requestId: [{ kind: /[\w-]/, isRun: true }],
  taskId: [{ kind: /[\w-]/, isRun: true }],
  Y: digits(4),
  m: digits(2),
  d: digits(2),
  H: digits(2),
};

const charactersOf = (head: string): Characters[] =>
  patternParts(head).flatMap((part) =>
    'text' in part ? [...part.text].map((kind) => ({ kind })) : (kinds[part.variable] ?? []),
  );

/** True when a text of one form may begin one of the other. */
function canBeginAlike(a: readonly Characters[], b: readonly Characters[]): boolean {
  // Pairs of places, one in each, that texts can reach which are the same up to there.
  const reached = new Set<number>();
  const open: [number, number][] = [[0, 0]];
  for (let pair = open.pop(); pair; pair = open.pop()) {
    const [i, j] = pair;
    const [x, y] = [a[i], b[j]];
    if (!x || !y) return true;
    const id = i * (b.length + 1) + j;
    if (reached.has(id) || !canBeSame(x.kind, y.kind)) continue;
    reached.add(id);
    open.push([i + 1, j + 1]);
    // A run goes on beside what comes next in the other.
    if (x.isRun) open.push([i, j + 1]);
    if (y.isRun) open.push([i + 1, j]);
  }
  return false;
}

function canBeSame(a: RegExp | string, b: RegExp | string): boolean {
  if (typeof a === 'string') return typeof b === 'string' ? a === b : b.test(a);
  // Digits are letters of an id, and these are of a group.
  return typeof b === 'string' ? a.test(b) : true;
}
