import { afterEach, describe, expect, test } from 'vitest';
import { usableRange, UserNumbers } from './user-numbers.js';

const wanted = { first: 1_900_000_000, count: 65_536 };

describe('the range', () => {
  test.each([
    { name: 'a machine has every number', uids: '0 0 4294967295', is: wanted },
    { name: 'a container has the usual 65,536', uids: '0 100000 65536', is: { first: 20_000, count: 40_000 } },
    { name: 'several lines', uids: '0 1000 1\n1 100000 65536\n', is: { first: 20_000, count: 40_000 } },
    { name: 'more than is usual', uids: '0 0 1000000', is: { first: 934_464, count: 65_536 } },
    { name: 'few', uids: '0 100000 3000', is: { first: 1_500, count: 1_500 } },
    {
      name: 'groups that are fewer',
      uids: '0 0 4294967295',
      gids: '0 100000 65536',
      is: { first: 20_000, count: 40_000 },
    },
    { name: 'our own alone', uids: '0 1000 1', is: undefined },
    { name: 'no other group', uids: '0 0 4294967295', gids: '0 1000 1', is: undefined },
  ])('$name', ({ uids, gids = uids, is }) => expect(usableRange(wanted, uids, gids)).toEqual(is));
});

describe('numbers', () => {
  const opened: UserNumbers[] = [];
  const open = (first: number, count: number) => {
    const numbers = new UserNumbers({ first, count });
    opened.push(numbers);
    return numbers;
  };
  afterEach(() => opened.splice(0).forEach((numbers) => numbers.close()));

  test('are given once each, those asked for at the same time too, and go round', async () => {
    const numbers = open(1_800_000_000, 600);
    const all = await Promise.all(Array.from({ length: 600 }, () => numbers.take()));
    expect(new Set(all).size).toBe(600);
    expect(all.every((number) => numbers.contains(number))).toBe(true);
    await expect(numbers.take()).rejects.toThrow('All 600 users for tasks are in use');
    numbers.release(all[3]!);
    expect(await numbers.take()).toBe(all[3]);
  });

  test('come back late', async () => {
    const numbers = open(1_800_001_000, 512);
    const seen: number[] = [];
    for (let n = 0; n < 512; n++) {
      const number = await numbers.take();
      seen.push(number);
      numbers.release(number);
    }
    expect(new Set(seen).size).toBe(512);
  });

  test('of two agents of one machine are never the same', async () => {
    const [one, two] = [open(1_800_002_000, 1_024), open(1_800_002_000, 1_024)];
    const take = (numbers: UserNumbers) => Promise.all(Array.from({ length: 300 }, () => numbers.take()));
    const [mine, theirs] = await Promise.all([take(one), take(two)]);
    expect(mine.filter((number) => theirs.includes(number))).toEqual([]);
  });

  test('that an adopted task or a process has are left out', async () => {
    const uid = process.getuid?.() ?? 0;
    const numbers = open(uid, 3);
    await numbers.keep(uid + 1);
    expect(await numbers.take()).toBe(uid + 2);
    await expect(numbers.take()).rejects.toThrow('in use');
  });

  test('of an adopted task are not ours alone when another agent got them meanwhile', async () => {
    const [first, count] = [1_800_004_000, 256];
    const [other, adopting] = [open(first, count), open(first, count)];
    const number = await other.take();
    await adopting.keep(number);
    expect([other.isOursAlone(number), adopting.isOursAlone(number)]).toEqual([true, false]);
    other.close();
    await adopting.keep(number);
    expect([other.isOursAlone(number), adopting.isOursAlone(number)]).toEqual([false, true]);
    expect(adopting.isOursAlone(first - 1)).toBe(false);
  });
});
