import { describe, expect, test } from 'vitest';
import { isWithin, incarnationAt, incarnationsOf, newestVisible } from './incarnations.js';

const groups = (group: string) => ({ group });
const ended = [
  { endedAt: 10, groups: groups('a') },
  { endedAt: 20, groups: groups('b') },
];
const present = { groups: groups('c'), gone: false };
const lives = incarnationsOf(ended, present);

describe('the requests that had an id', () => {
  test('end where their deletion stands, and the one that is there does not', () => {
    expect(lives).toEqual([
      { groups: groups('a'), gone: true, after: undefined, until: 10 },
      { groups: groups('b'), gone: true, after: 10, until: 20 },
      { groups: groups('c'), gone: false, after: 20 },
    ]);
  });

  test('while there is none, the last one has what was written after its end', () => {
    expect(incarnationsOf(ended, { groups: groups('b'), gone: true }).at(-1)).toMatchObject({
      after: 10,
      until: undefined,
    });
  });

  test('without a deletion in the history there was one', () => {
    expect(incarnationsOf([], present)).toEqual([{ ...present, after: undefined }]);
    expect(incarnationsOf([], { ...present, gone: true })).toEqual([{ ...present, gone: true }]);
    expect(incarnationsOf([], undefined)).toEqual([]);
  });

  test.each([
    [0, 'a'],
    [10, 'a'],
    [11, 'b'],
    [20, 'b'],
    [21, 'c'],
    [1_000, 'c'],
  ])('what began at %i is of %s', (at, group) => {
    expect(incarnationAt(lives, at)?.groups?.group).toBe(group);
  });
});

describe('a caller sees the newest ones without a gap', () => {
  test.each([
    ['abc', { after: undefined, before: undefined }],
    ['bc', { after: 10, before: undefined }],
    ['c', { after: 20, before: undefined }],
    ['ac', { after: 20, before: undefined }],
    ['a', { after: undefined, before: 11 }],
    ['ab', { after: undefined, before: 21 }],
    ['', undefined],
  ])('of those of %j: %o', (readable, past) => {
    const seen = newestVisible(lives, ({ groups: of }) => readable.includes(of!.group!));
    expect(seen?.past).toEqual(past);
  });

  test('which are exactly the times of these', () => {
    const { past } = newestVisible(lives, ({ groups: of }) => of?.group === 'b')!;
    expect([10, 11, 20, 21].map((at) => isWithin(past, at))).toEqual([false, true, true, false]);
  });
});
