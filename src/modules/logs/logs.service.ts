import { Injectable } from '@nestjs/common';
import { isOwn, placeName, searchPlaces, type SearchPlace } from '../../core/logs/index.js';
import type {
  ContinuationToken,
  ObjstoreLog,
  ObjstoreSearchRequest,
  ObjstoreSearchResult,
} from '../../core/model/logs.js';
import { inParallel } from '../../platform/async.js';
import { LogItems, newestFirst, within, type FoundObject, type ItemChoice } from './log-items.service.js';
import { LogSearches, refusal, type LogQuery } from './log-searches.service.js';
import { ObjectStore } from './object-store.service.js';

export interface LogListOptions extends ItemChoice {
  /** At most so many of each bucket, the newest. */
  maxPerPage?: number;
}

const defaultPerPage = 10;
/** However many a caller asks for: the next page has the rest. */
const mostPerPage = 1_000;
/** Length of the longest key that stores take. */
const longestKeyBytes = 1_024;
const shorter = 'ask for a shorter time between start and end, or in pages with /api/logs/search';

/** Finds logs of tasks in the object store, those of machines that are long gone included. */
@Injectable()
export class LogsService {
  constructor(
    private readonly store: ObjectStore,
    private readonly searches: LogSearches,
    private readonly items: LogItems,
  ) {}

  /** All of them, the newest first. `rootUrl`: the root of this service as the caller reaches it. */
  async list(wanted: LogQuery, choice: LogListOptions, rootUrl: string): Promise<ObjstoreLog[]> {
    const { maxObjstoreThreads, waitForObjstoreListSeconds } = this.store.configured();
    const places = await this.places(wanted);
    const found = await within(waitForObjstoreListSeconds, shorter, (signal) =>
      inParallel(places, maxObjstoreThreads, (place) => this.listAll(place, signal), { stopAtFailure: true }),
    );
    const newest = newestOfEachBucket(
      found.flatMap((objects) => objects ?? []),
      choice.maxPerPage,
    );
    return this.items.describe(newest, choice, rootUrl);
  }

  /** A page of them. The answered tokens, sent again, ask for the next one. */
  async search(request: ObjstoreSearchRequest, rootUrl: string): Promise<ObjstoreSearchResult> {
    const { maxObjstoreThreads, waitForObjstoreListSeconds } = this.store.configured();
    const { start, end, maxPerPage, continuationTokens = {}, fileNamePrefixWhitelist = [] } = request;
    const { taskIds, requestsAndDeploys } = request;
    // Zero is how some clients say that nothing was chosen.
    const most = Math.min(maxPerPage || defaultPerPage, mostPerPage);
    const places = await this.places({ taskIds, requestsAndDeploys, start: start || undefined, end: end || undefined });
    checkTokens(continuationTokens, places);
    const page = await within(waitForObjstoreListSeconds, 'ask for fewer at once', (signal) =>
      searchPage({
        places,
        tokens: continuationTokens,
        maxPerPage: most,
        threads: maxObjstoreThreads,
        list: (place, after) => this.listOwn(place, { after, most, signal }, fileNamePrefixWhitelist),
      }),
    );
    const { excludeMetadata, listOnly: list } = request;
    const results = await this.items.describe(page.found, { excludeMetadata, list }, rootUrl);
    return { results, continuationTokens: page.tokens, lastPage: page.lastPage };
  }

  private async places(wanted: LogQuery): Promise<SearchPlace[]> {
    const layout = this.store.configured();
    const found = searchPlaces(layout, await this.searches.find(wanted));
    if ('places' in found) return found.places;
    const { requestId } = found.tooLong;
    const message = `start must be later, or end earlier: the logs of request '${requestId}' are in too many places`;
    throw refusal('start', 'span', message);
  }

  private async listAll(place: SearchPlace, signal: AbortSignal): Promise<FoundObject[]> {
    const all: FoundObject[] = [];
    let after: string | undefined;
    do {
      const listing = await this.listOwn(place, { after, signal });
      all.push(...listing.found);
      after = listing.after;
    } while (after !== undefined);
    return all;
  }

  private async listOwn(
    place: SearchPlace,
    choice: { after?: string; most?: number; signal: AbortSignal },
    beginnings: readonly string[] = [],
  ): Promise<PlaceListing<FoundObject>> {
    const { bucket, prefix, owner } = place;
    const { objects, after } = await this.store.list(bucket, { prefix, ...choice });
    const own = objects.filter(({ key }) => isOwn(key, place, owner) && beginsWithOneOf(key, beginnings));
    return { found: own.map((object) => ({ ...object, bucket })), after };
  }
}

/** The key or the name of the file, which is its last part. */
const beginsWithOneOf = (key: string, beginnings: readonly string[]): boolean =>
  beginnings.length === 0 ||
  beginnings.some((text) => key.startsWith(text) || key.slice(key.lastIndexOf('/') + 1).startsWith(text));

function newestOfEachBucket(found: readonly FoundObject[], most = Number.POSITIVE_INFINITY): FoundObject[] {
  const taken = new Map<string, number>();
  return newestFirst(found).filter(({ bucket: { objstoreBucket } }) => {
    const count = (taken.get(objstoreBucket) ?? 0) + 1;
    taken.set(objstoreBucket, count);
    return count <= most;
  });
}

interface PlaceListing<T> {
  found: T[];
  /** There is more, after this. */
  after?: string;
}

interface PageChoice<T> {
  places: readonly SearchPlace[];
  /** As the page before answered them; none for the first page. */
  tokens: Readonly<Record<string, ContinuationToken>>;
  /** Once so many are found no further place is asked. */
  maxPerPage: number;
  /** Number of places that are asked at a time. */
  threads: number;
  list: (place: SearchPlace, after: string | undefined) => Promise<PlaceListing<T>>;
}

interface SearchPage<T> {
  found: T[];
  tokens: Record<string, ContinuationToken>;
  lastPage: boolean;
}

/**
 * One page of a search over many places. Nothing found is ever dropped: what was asked counts, so a page can be longer than
 * wanted, and a place that was not asked keeps its token. Tokens of places that are not looked at are not answered.
 */
export async function searchPage<T>(choice: PageChoice<T>): Promise<SearchPage<T>> {
  const { places, maxPerPage, threads, list } = choice;
  const tokens = new Map(places.map((place) => [placeName(place), tokenOf(choice.tokens, place)]));
  const open = places.filter((place) => !tokens.get(placeName(place))!.lastPage);
  let count = 0;
  const search = async (place: SearchPlace): Promise<T[]> => {
    const name = placeName(place);
    const { found, after } = await list(place, tokens.get(name)!.value);
    tokens.set(name, after === undefined ? { lastPage: true } : { value: after, lastPage: false });
    count += found.length;
    return found;
  };
  const rules = { stopAtFailure: true, isEnough: () => count >= maxPerPage };
  const listings = await inParallel(open, threads, search, rules);
  return {
    found: listings.flatMap((found) => found ?? []),
    tokens: Object.fromEntries(tokens),
    lastPage: [...tokens.values()].every((token) => token.lastPage),
  };
}

/** A token that is used names a key that such a place can have: all that it does is to leave out those before it. */
function checkTokens(tokens: Readonly<Record<string, ContinuationToken>>, places: readonly SearchPlace[]): void {
  for (const place of places) {
    const { value, lastPage } = tokenOf(tokens, place);
    if (lastPage || value === undefined) continue;
    if (value.startsWith(place.prefix) && Buffer.byteLength(value) <= longestKeyBytes) continue;
    const name = placeName(place);
    throw refusal('continuationTokens', 'tokens', `continuationTokens['${name}'] is not what the page before answered`);
  }
}

function tokenOf(tokens: Readonly<Record<string, ContinuationToken>>, place: SearchPlace): ContinuationToken {
  const name = placeName(place);
  return (Object.hasOwn(tokens, name) ? tokens[name] : undefined) ?? { lastPage: false };
}
