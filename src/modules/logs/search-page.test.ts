import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placeName, type SearchPlace } from '../../core/logs/index.js';
import type { ContinuationToken } from '../../core/model/logs.js';
import { searchPage } from './logs.service.js';

const place = (prefix: string): SearchPlace => ({
  prefix,
  group: 'default',
  bucket: { objstoreBucket: 'logs' },
  owner: { requestId: 'web' },
});

/** Places with so many objects each. */
function world(counts: readonly number[], maxPerPage: number, threads = 3) {
  const places = counts.map((_, index) => place(`p${index}/`));
  const asked: string[] = [];
  const list = ({ prefix }: SearchPlace, after?: string) => {
    asked.push(prefix);
    const all = Array.from(
      { length: counts[Number(prefix.slice(1, -1))]! },
      (_, n) => `${prefix}${String(n).padStart(3, '0')}`,
    );
    const rest = all.filter((key) => after === undefined || key > after);
    const found = rest.slice(0, maxPerPage);
    return Promise.resolve({ found, after: rest.length > found.length ? found.at(-1) : undefined });
  };
  const page = (tokens: Record<string, ContinuationToken> = {}) =>
    searchPage({ places, tokens, maxPerPage, threads, list });
  return { page, asked };
}

test('nothing to search is one empty last page', async () => {
  expect(await world([], 10).page()).toEqual({ found: [], tokens: {}, lastPage: true });
});

test('once enough is found no further place is asked, and those keep their tokens', async () => {
  const { page, asked } = world([5, 5, 5], 2, 1);
  const { found, tokens, lastPage } = await page();
  expect([found, asked, lastPage]).toEqual([['p0/000', 'p0/001'], ['p0/'], false]);
  expect(tokens).toEqual({
    'default-logs-p0/': { value: 'p0/001', lastPage: false },
    'default-logs-p1/': { lastPage: false },
    'default-logs-p2/': { lastPage: false },
  });
});

test('a page is longer than wanted when several places answer at once', async () => {
  expect((await world([5, 5, 5], 2, 3).page()).found).toHaveLength(6);
});

test('a place that is read to its end is not asked again', async () => {
  const { page, asked } = world([1, 9], 2, 1);
  const { tokens } = await page();
  asked.length = 0;
  await page(tokens);
  expect(asked).toEqual(['p1/']);
});

test('tokens of places that are not searched are neither used nor answered', async () => {
  const { tokens } = await world([1], 2).page({
    'default-secret-x': { lastPage: false },
    constructor: { lastPage: true },
  });
  expect(Object.keys(tokens)).toEqual([placeName(place('p0/'))]);
});

test('a store that fails ends the search: no further place is asked', async () => {
  const asked: string[] = [];
  const list = ({ prefix }: SearchPlace) => {
    asked.push(prefix);
    return Promise.reject(new Error('down'));
  };
  const places = Array.from({ length: 9 }, (_, n) => place(`p${n}/`));
  await expect(searchPage({ places, tokens: {}, maxPerPage: 9, threads: 3, list })).rejects.toThrow('down');
  expect(asked).toHaveLength(3);
});

test('whatever the places hold, the pages together give everything once', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(25), { maxLength: 8 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 4 }),
      async (counts, maxPerPage, threads) => {
        const { page } = world(counts, maxPerPage, threads);
        const found: string[] = [];
        let tokens: Record<string, ContinuationToken> = {};
        for (let lastPage = false; !lastPage;) {
          const next = await page(tokens);
          found.push(...next.found);
          ({ tokens, lastPage } = next);
        }
        expect(new Set(found).size).toBe(found.length);
        expect(found).toHaveLength(counts.reduce((sum, count) => sum + count, 0));
      },
    ),
  ));
