import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { processStart } from '../../platform/process/pid-file.js';
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
  const claims = tempFolder();
  afterAll(claims.remove);
  const opened: UserNumbers[] = [];
  const open = (first: number, count: number) => {
    const numbers = new UserNumbers({ first, count }, claims.path);
    opened.push(numbers);
    return numbers;
  };
  afterEach(() => opened.splice(0).forEach((numbers) => numbers.close()));

  test('are given once each, those asked for at the same time too, and go round', async () => {
    const numbers = open(1_800_000_000, 600);
    const all = await Promise.all(Array.from({ length: 600 }, () => numbers.take()));
    expect(new Set(all).size).toBe(600);
    expect(all.every((number) => numbers.contains(number))).toBe(true);
    expect(() => numbers.take()).toThrow('All 600 users for tasks are in use');
    numbers.release(all[3]!);
    expect(numbers.take()).toBe(all[3]);
  });

  test('come back late', async () => {
    const numbers = open(1_800_001_000, 512);
    const seen: number[] = [];
    for (let n = 0; n < 512; n++) {
      const number = numbers.take();
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
    numbers.keep(uid + 1);
    expect(numbers.take()).toBe(uid + 2);
    expect(() => numbers.take()).toThrow('in use');
  });

  test('of an adopted task are not ours alone when another agent got them meanwhile', async () => {
    const [first, count] = [1_800_004_000, 256];
    const [other, adopting] = [open(first, count), open(first, count)];
    const number = other.take();
    adopting.keep(number);
    expect([other.isOursAlone(number), adopting.isOursAlone(number)]).toEqual([true, false]);
    other.close();
    adopting.keep(number);
    expect([other.isOursAlone(number), adopting.isOursAlone(number)]).toEqual([false, true]);
    expect(adopting.isOursAlone(first - 1)).toBe(false);
  });

  test('are ours alone whatever names of sockets other programs have taken', async () => {
    const first = 1_800_006_000;
    const squatter = createServer();
    onTestFinished(() => void squatter.close());
    await once(squatter.listen(`\0muster-task-users-${first}`), 'listening');
    const numbers = open(first, 256);
    expect(numbers.isOursAlone(numbers.take())).toBe(true);
  });

  test('of an agent that was killed are free for the next one, those of a live one are not', async () => {
    const first = 1_800_008_000;
    const other = spawn('sleep', ['600']);
    const held = open(first, 256);
    held.take();
    const file = readdirSync(claims.path).map((name) => join(claims.path, name));
    held.close();
    const claim = { pid: other.pid, startedAt: processStart(other.pid!) };
    for (const path of file) writeFileSync(path, JSON.stringify(claim));
    const numbers = open(first, 256);
    numbers.keep(first);
    expect(numbers.isOursAlone(first)).toBe(false);
    other.kill('SIGKILL');
    await once(other, 'exit');
    numbers.keep(first);
    expect(numbers.isOursAlone(first)).toBe(true);
    expect(JSON.parse(readFileSync(file[0]!, 'utf8'))).toMatchObject({ pid: process.pid });
  });
});
