import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { deployKeyText, type DeployKey } from '../../core/model/deploy.js';
import { SchedulerError } from '../errors.js';
import { ListPage, type KeysetPage } from '../database/keyset.js';
import { isNotGiven } from './query.js';

/** Asks for the first page. */
const firstPage = '*';
const mostPerPage = 10_000;

/** The page that a call asks for with `cursor`, as a parameter of a handler that reads it as such: it answers a ListPage then. */
export const AskedPage = createParamDecorator((_data: unknown, context: ExecutionContext): KeysetPage | undefined =>
  pageAskedBy(context.switchToHttp().getRequest<Request>()),
);

/** The page of a list, with the headers that name the next one. Lists that were read whole are cut here. */
export function asPage(list: readonly unknown[] | ListPage<unknown>, request: Request, response: Response): unknown[] {
  const asked = pageAskedBy(request);
  const page = list instanceof ListPage ? list : asked && cut(list, asked);
  if (page?.next !== undefined) {
    const next = Buffer.from(page.next).toString('base64url');
    const url = new URL(request.originalUrl, 'http://localhost');
    url.searchParams.set('cursor', next);
    response.set('X-Next-Cursor', next).set('Link', `<${url.pathname}${url.search}>; rel="next"`);
  }
  return (page?.members ?? list) as unknown[];
}

function pageAskedBy({ query }: Request): KeysetPage | undefined {
  const cursors = [query['cursor'] ?? []].flat();
  if (cursors.every(isNotGiven)) return undefined;
  const [cursor] = cursors;
  if (cursors.length > 1 || typeof cursor !== 'string') throw refused('cursor', 'may be given once');
  return { after: cursor === firstPage ? '' : readCursor(cursor), limit: readLimit(query['limit']) };
}

function readLimit(given: unknown): number {
  const limit = given === undefined || isNotGiven(given) || given === '0' ? mostPerPage : Number(given);
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostPerPage) return limit;
  throw refused('limit', `must be a whole number from 1 to ${mostPerPage}`, 'max');
}

/** The key that a cursor holds: text as keys have it, so that what was made up is refused rather than read from somewhere. */
function readCursor(cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url');
  const key = bytes.toString();
  const isText = bytes.equals(Buffer.from(key)) && !key.includes('\0');
  if (bytes.length > 0 && bytes.toString('base64url') === cursor && isText) return key;
  throw refused('cursor', `must be '${firstPage}' or what X-Next-Cursor said`);
}

function refused(field: 'cursor' | 'limit', rule: string, name: string = field): SchedulerError {
  return SchedulerError.invalid('INVALID_REQUEST', [{ field, rule: name, message: `${field} ${rule}` }]);
}

/** Between the id of a member and what it says, in keys of lists that were read whole. */
const endOfId = '\n';

interface Member {
  id?: unknown;
  taskId?: { id?: unknown };
  key?: unknown;
  deployMarker?: DeployKey;
}

/** The id of a record of a list that is read whole, of which others of the list may have the same one. Empty: it has none. */
function idOf(member: unknown): string {
  if (typeof member !== 'object' || member === null) return String(member);
  const { id, taskId, key, deployMarker } = member as Member;
  const found = [id, taskId?.id, key, deployMarker && deployKeyText(deployMarker)];
  return found.find((one) => typeof one === 'string') ?? '';
}

/**
 * A page out of a short list that was read whole. Its members are in the order of their ids, those of one id in the order of all that
 * they say; only where a page ends between two of one id does the key say that, too: else a member that changes would come again.
 */
function cut(list: readonly unknown[], { after, limit }: KeysetPage): ListPage<unknown> {
  const isAfter = ({ id, key }: KeyedMember): boolean =>
    after.includes(endOfId) ? key > after : id > after || after === '';
  const keyed = list
    .map((member): KeyedMember => ({ member, id: idOf(member), key: idOf(member) + endOfId + JSON.stringify(member) }))
    .filter(isAfter)
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const page = keyed.slice(0, limit);
  const last = page.at(-1);
  const isBetweenIds = keyed[limit]?.id !== last?.id && last?.id !== '';
  const next = keyed[limit] && (isBetweenIds ? last?.id : last?.key);
  return new ListPage(
    page.map(({ member }) => member),
    next,
  );
}

interface KeyedMember {
  member: unknown;
  id: string;
  key: string;
}
