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

/** Variables that a search for all logs of a request can fill in, or go through one by one. */
const knownOfRequest: readonly KeyVariable[] = ['requestId', 'group', 'taskId', 'Y', 'm', 'd', 'H'];

/**
 * Whether the logs of a request can be told from those of others by how their keys begin. Otherwise whoever may read one
 * request would read all.
 */
export function tellsRequestsApart(pattern: string): boolean {
  for (const part of patternParts(pattern)) {
    if ('text' in part) continue;
    if (part.variable === 'requestId' || part.variable === 'taskId') return true;
    if (!knownOfRequest.includes(part.variable)) return false;
  }
  return false;
}
