import type { Request, Response } from 'express';
import { SchedulerError } from '../errors.js';
import { asksForPage, isNotGiven } from './query.js';

/** Asks for the first page. */
const first = '*';
const mostPerPage = 10_000;

/**
 * Pages of a list, for callers that ask with `cursor`: '*' at first, then what the header X-Next-Cursor said. The list is
 * then in the order of its ids, so that nothing is left out or comes twice although it changes between two pages.
 */
export function pageOf(list: readonly unknown[], request: Request, response: Response): readonly unknown[] {
  const { cursor, limit: wanted } = request.query;
  if (!asksForPage({ cursor })) return list;
  const limit = readLimit(wanted);
  const after = cursor === first ? undefined : readCursor(String(cursor));
  const keyed = list
    .map((member) => ({ member, key: keyOf(member) }))
    .filter(({ key }) => after === undefined || key > after)
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const page = keyed.slice(0, limit);
  if (keyed.length > limit) {
    const next = Buffer.from(page.at(-1)!.key).toString('base64url');
    const url = new URL(request.originalUrl, 'http://localhost');
    url.searchParams.set('cursor', next);
    response.set('X-Next-Cursor', next).set('Link', `<${url.pathname}${url.search}>; rel="next"`);
  }
  return page.map(({ member }) => member);
}

function readLimit(given: unknown): number {
  const limit = given === undefined || isNotGiven(given) || given === '0' ? mostPerPage : Number(given);
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostPerPage) return limit;
  const message = `limit must be a whole number from 1 to ${mostPerPage}`;
  throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'limit', rule: 'max', message }]);
}

function readCursor(text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length > 0 && bytes.toString('base64url') === text) return bytes.toString();
  const message = `cursor must be '${first}' or what X-Next-Cursor said`;
  throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'cursor', rule: 'cursor', message }]);
}

/** Where the records of this API have ids that no other of the list has, in the order in which they are looked for. */
const ownIds = [
  ['id'],
  ['taskId', 'id'],
  ['request', 'id'],
  ['pendingTask', 'pendingTaskId', 'id'],
  ['pendingTaskId', 'id'],
  ['key'],
];

/** Records without an id of their own are told apart, and ordered, by all that they say. */
function keyOf(member: unknown): string {
  if (typeof member === 'string') return member;
  for (const path of ownIds) {
    const id = path.reduce((value: unknown, name) => (value as Record<string, unknown> | undefined)?.[name], member);
    if (typeof id === 'string') return id;
  }
  return JSON.stringify(member);
}
