import { expect, test } from 'vitest';
import { plannedEachTime, StatementNames } from './sql.js';

test('a statement gets a name when it is sent for the third time, its own and always the same', () => {
  const names = new StatementNames();
  const given = ['a', 'a', 'a', 'a', 'b', 'b', 'b'].map((text) => names.nameOf(text));
  expect(given.map((name) => name !== undefined)).toEqual([false, false, true, true, false, false, true]);
  expect(given[2]).toBe(given[3]);
  expect(given[2]).not.toBe(given[6]);
});

test('names fit into those of the server, whatever the statement', () => {
  const names = new StatementNames();
  const long = 'SELECT '.repeat(1_000);
  for (let use = 0; use < 3; use++) names.nameOf(long);
  expect(Buffer.byteLength(names.nameOf(long)!)).toBeLessThanOrEqual(63);
});

test('there is an end to names', () => {
  const names = new StatementNames();
  const named = new Set<string>();
  for (let statement = 0; statement < 20_000; statement++) {
    for (let use = 0; use < 3; use++) {
      const name = names.nameOf(`SELECT ${statement}`);
      if (name) named.add(name);
    }
  }
  expect(named.size).toBe(500);
});

test('after all were forgotten the same statement gets another name', () => {
  const names = new StatementNames();
  const third = () => [1, 2, 3].map(() => names.nameOf('a'))[2];
  const before = third();
  names.forget();
  const after = third();
  expect(after).toBeDefined();
  expect(after).not.toBe(before);
});

test('what is to be planned each time gets no name', () => {
  const names = new StatementNames();
  const given = Array.from({ length: 5 }, () => names.nameOf(`${plannedEachTime}SELECT 1`));
  expect(new Set(given)).toEqual(new Set([undefined]));
});
