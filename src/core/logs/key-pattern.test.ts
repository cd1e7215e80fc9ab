import fc from 'fast-check';
import { expect, test } from 'vitest';
import { evening, idOf, layout, searchFor, standardPattern } from '../../../test/support/fixtures/logs.js';
import { mayMeet, separatesRequests } from './key-pattern.js';
import { isOwn } from './key-prefixes.js';
import { keyPatternOfTask, objectKey } from './object-key.js';
import { searchPlaces } from './search-places.js';

test.each([
  { pattern: standardPattern, is: true },
  { pattern: '%Y/%m/%d/%H/%group/%taskId', is: true },
  { pattern: 'logs.%Y-%requestId/%filename', is: true },
  { pattern: '%group/x/%Y%m%taskId', is: true },
  { pattern: '%requestId-%filename', is: false },
  { pattern: '%Y-%requestId', is: false },
  { pattern: '%requestId%Y/%taskId', is: false },
  { pattern: '%group-%taskId', is: false },
  { pattern: '%group%Y%requestId/x', is: false },
  { pattern: 'all/%filename/%requestId/', is: false },
  { pattern: '%tag/%requestId/', is: false },
  { pattern: '%host/%taskId', is: false },
  { pattern: '%Y/%filename', is: false },
  { pattern: 'logs', is: false },
])('$pattern tells requests apart: $is', ({ pattern, is }) => expect(separatesRequests(pattern)).toBe(is));

test.each([
  { one: standardPattern, other: '%requestId/gc/%filename', may: false },
  { one: '%requestId/', other: 'gc/%requestId/', may: true },
  { one: '%requestId/', other: 'g.c/%requestId/', may: false },
  { one: '%requestId/', other: '%group/%requestId/', may: true },
  { one: '%requestId/', other: '%taskId', may: true },
  { one: '%Y/%requestId/', other: '%requestId/', may: true },
  { one: '%Y/%requestId/', other: '%m/%requestId/', may: false },
  { one: '%Y-%requestId/', other: 'Y/%requestId/', may: false },
  { one: 'a/%requestId/', other: 'b/%requestId/', may: false },
  { one: 'a/%group/%requestId/', other: 'a/%requestId/', may: true },
  { one: 'a%requestId/', other: 'aa%requestId/', may: true },
])('keys of $one and of $other may meet: $may', ({ one, other, may }) => {
  expect([mayMeet(one, other), mayMeet(other, one)]).toEqual([may, may]);
});

const anyId = fc.constantFrom('a', 'b', 'a-b', 'a-b-c', 'gc', '2026', '01', 'x', `a-b-${evening}-1-h`, idOf('a', 'd'));
const anyGroup = fc.constantFrom('default', 'a', 'a/b', 'gc', '%Y', '../a', 'a-b', '2026', '');
const anyRequest = fc.record({ id: anyId, group: anyGroup });
const piece = fc.constantFrom('%group', '%Y', '%m', '%group/', '%Y/', '/', '-', '.', 'a', 'gc/', 'x');
const ending = fc.constantFrom('', '/', '-', '%Y', '/%filename', '_%index-%s-%filename', '/%taskId', '-%filename');
const composed = fc
  .tuple(fc.array(piece, { maxLength: 3 }), fc.constantFrom('%requestId', '%requestId/', '%taskId'), ending)
  .map(([before, owner, after]) => [...before, owner, after].join(''));
const likely = ['', 'gc/', 'a/', '2026/', '%group/', '%Y/', '%m/'].flatMap((before) =>
  ['%requestId/', '%taskId-', '%taskId/'].map((owner) => `${before}${owner}%filename`),
);
const anyPattern = fc.oneof(composed, fc.constantFrom(...likely));
const anyFile = fc.constantFrom('service.log', 'b-1', `d-${evening}-1-x`, '2026-01-31.log', '%requestId');

test('by patterns that are accepted no request is shown what another has written, and each finds its own', () =>
  fc.assert(
    fc.property(
      fc.uniqueArray(anyPattern, { minLength: 1, maxLength: 2 }),
      anyRequest,
      anyRequest,
      anyFile,
      (patterns, reader, writer, name) => {
        fc.pre(patterns.every(separatesRequests) && !mayMeet(patterns[0]!, patterns.at(-1)!));
        // Nothing tells a request of such a name from a task of another.
        fc.pre(patterns.every((pattern) => pattern.includes('%requestId/')) || !/-\d{13}-/.test(writer.id));
        const [objstoreKeyFormat, ...more] = patterns;
        const objstoreUploaderAdditionalFiles = more.map((pattern) => ({ objstoreUploaderKeyPattern: pattern }));
        const search = searchFor(reader.id, { hours: 1 });
        search.subject.group = reader.group;
        const found = searchPlaces(layout({ objstoreKeyFormat, objstoreUploaderAdditionalFiles }), [search]);
        const taskId = idOf(writer.id, 'd');
        const owner = { requestId: writer.id, group: writer.group, tag: 't', deployId: 'd', host: 'host_1', taskId };
        for (const pattern of patterns) {
          const known = keyPatternOfTask(pattern, owner);
          const key = objectKey(known, { name, changedAt: evening, index: 0, guid: 'g', host: 'host_1' });
          const isFound =
            'places' in found &&
            found.places.some((place) => key.startsWith(place.prefix) && isOwn(key, place, place.owner));
          if (reader.id !== writer.id) expect([key, isFound]).toEqual([key, false]);
          else if (reader.group === writer.group) expect([key, isFound]).toEqual([key, true]);
        }
      },
    ),
    { numRuns: 500 },
  ));
