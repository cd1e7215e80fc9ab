import { placeName, type SearchPlace } from '../../core/logs/index.js';
import type { ContinuationToken } from '../../core/model/logs.js';
import { inParallel } from './in-parallel.js';

export interface PlaceListing<T> {
  found: T[];
  /** There is more, after this. */
  after?: string;
}

export interface PageChoice<T> {
  places: readonly SearchPlace[];
  /** As the page before answered them; none for the first page. */
  tokens: Readonly<Record<string, ContinuationToken>>;
  /** Once so many are found no further place is asked. */
  maxPerPage: number;
  /** How many places are asked at a time. */
  threads: number;
  list: (place: SearchPlace, after: string | undefined) => Promise<PlaceListing<T>>;
}

export interface SearchPage<T> {
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
  const listings = await inParallel({
    items: open,
    atMost: threads,
    isEnough: () => count >= maxPerPage,
    work: async (place) => {
      const name = placeName(place);
      const { found, after } = await list(place, tokens.get(name)!.value);
      tokens.set(name, after === undefined ? { lastPage: true } : { value: after, lastPage: false });
      count += found.length;
      return found;
    },
  });
  return {
    found: listings.flatMap((found) => found ?? []),
    tokens: Object.fromEntries(tokens),
    lastPage: [...tokens.values()].every((token) => token.lastPage),
  };
}

function tokenOf(tokens: Readonly<Record<string, ContinuationToken>>, place: SearchPlace): ContinuationToken {
  const name = placeName(place);
  return (Object.hasOwn(tokens, name) ? tokens[name] : undefined) ?? { lastPage: false };
}
