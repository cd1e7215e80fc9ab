import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isOwn } from './key-prefixes.js';
import { idOf, layout, searchFor } from '../../../test/support/fixtures/logs.js';
import { placeName, type Search, type SearchPlace, searchPlaces } from './search-places.js';

function placesOf(searches: Search[], changes = {}): SearchPlace[] {
  const found = searchPlaces(layout(changes), searches);
  if ('tooLong' in found) throw new Error('too long');
  return found.places;
}
const shown = (places: SearchPlace[]): string[] => places.map((place) => placeName(place));
const oneMonth = { deployId: 'd1', hours: 1 };

test.each([
  { name: 'the general bucket', changes: {}, is: ['logs'] },
  {
    name: "a group's own in its place, which leaves the general one to be searched",
    changes: { groupOverrides: { default: { objstoreBucket: 'own' } } },
    is: ['own', 'logs'],
  },
  {
    name: 'one that is searched for the group in addition',
    changes: { groupObjstoreSearchConfigs: { default: { objstoreBucket: 'old' } } },
    is: ['logs', 'old'],
  },
  {
    name: 'those of additional files',
    changes: { objstoreUploaderAdditionalFiles: [{ objstoreUploaderBucket: 'gc' }] },
    is: ['logs', 'gc'],
  },
  { name: 'nothing of other groups', changes: { groupOverrides: { other: { objstoreBucket: 'own' } } }, is: ['logs'] },
])('buckets: $name', ({ changes, is }) => {
  expect(placesOf([searchFor('web', oneMonth)], changes).map((place) => place.bucket.objstoreBucket)).toEqual(is);
});

test('a bucket of a group has the keys of the group, or none', () => {
  const changes = { objstoreAccessKey: 'general', groupOverrides: { default: { objstoreBucket: 'own' } } };
  expect(placesOf([searchFor('web', oneMonth)], changes).map(({ bucket }) => bucket.objstoreAccessKey)).toEqual([
    undefined,
    'general',
  ]);
});

test('patterns of additional files are searched as well, each once', () => {
  const objstoreUploaderAdditionalFiles = ['%requestId/gc-%filename', '%requestId/gc-%index', ''].map((pattern) => ({
    objstoreUploaderKeyPattern: pattern,
  }));
  expect(shown(placesOf([searchFor('web', oneMonth)], { objstoreUploaderAdditionalFiles }))).toEqual([
    'default-logs-web/2026/01/web-d1-',
    'default-logs-web/gc-',
  ]);
});

test('what a shorter prefix of the same bucket finds is not searched again', () => {
  const searches = [
    searchFor('web', { ...oneMonth, isTask: true }),
    searchFor('web', oneMonth),
    searchFor('web', { hours: 1 }),
  ];
  expect(shown(placesOf(searches))).toEqual(['default-logs-web/2026/01/web-']);
});

test('a place of one request never stands in for one of another, whose keys it would drop', () => {
  const pattern = { objstoreKeyFormat: '%Y/%taskId' };
  const searches = [
    searchFor('a', { hours: 1 }),
    searchFor('a-2', { hours: 1 }),
    searchFor('a', { deployId: '2', hours: 1 }),
  ];
  expect(shown(placesOf(searches, pattern))).toEqual(['default-logs-2026/a-', 'default-logs-2026/a-2-']);
  expect(shown(placesOf(searches.slice(1), pattern))).toEqual(['default-logs-2026/a-2-', 'default-logs-2026/a-2-@2']);
});

const anyId = fc.stringMatching(/^[a-c](-[a-c1-3]{1,2}){0,2}$/);
const anyDeployId = fc.stringMatching(/^[a-c1-3]{1,2}$/);
const patterns = [
  '%requestId/%Y/%m/%taskId_%index',
  '%Y/%taskId-%filename',
  '%requestId/%filename',
  '%m/%requestId/%taskId',
];

test('whatever is asked for together, a key is found in exactly one place if its request or deploy was asked for, else in none', () =>
  fc.assert(
    fc.property(
      fc.constantFrom(...patterns),
      fc.array(fc.tuple(anyId, fc.option(anyDeployId)), { minLength: 1, maxLength: 6 }),
      fc.array(fc.tuple(anyId, anyDeployId), { minLength: 1, maxLength: 6 }),
      (pattern, wanted, written) => {
        const searches = wanted.map(([id, deploy]) => searchFor(id, { deployId: deploy ?? undefined, hours: 1 }));
        const places = placesOf(searches, { objstoreKeyFormat: pattern });
        const asked = wanted.map(([requestId, deployId]) => ({ requestId, deployId }));
        for (const [requestId, deployId] of [...written, ...wanted.map(([id, d]) => [id, d ?? '1'] as const)]) {
          const key = pattern
            .replace('%requestId', requestId)
            .replace('%taskId', idOf(requestId, deployId))
            .replace('%Y', '2026')
            .replace('%m', '01')
            .replace('%index', '0')
            .replace('%filename', 'x');
          const finding = places.filter((place) => key.startsWith(place.prefix) && isOwn(key, place, place.owner));
          // Where keys do not name the deploy, those of the whole request are found.
          const byDeploy = pattern.includes('%taskId');
          const isAsked = asked.some(
            (one) => one.requestId === requestId && (one.deployId === null || !byDeploy || one.deployId === deployId),
          );
          expect([key, finding.length]).toEqual([key, isAsked ? 1 : 0]);
        }
      },
    ),
  ));
