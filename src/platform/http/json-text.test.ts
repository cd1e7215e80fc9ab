import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lookThrough } from './json-text.js';

const look = (text: string) => lookThrough(text, 100_000);

describe('a member that is given twice is found', () => {
  test.each([
    ['in the body', '{"a":1,"b":2,"a":3}', 'a'],
    ['in a record', '{"deploy":{"env":{"A":"1","A":"2"}}}', 'deploy.env.A'],
    ['in a list', '[1,{"a":[{"x":1},{"x":1,"x":2}]}]', '1.a.1.x'],
    ['with an escape', '{"a":1,"\\u0061":2}', 'a'],
    ['with signs of JSON in its name', '{"{\\",:":[],"{\\",:":[]}', '{",:'],
    ['with blanks around it', '{ "a" :1\n,\t"a"\r: {} }', 'a'],
    ['without a name', '{"":1,"":2}', ''],
    ['as a member of every object', '{"constructor":1,"constructor":2}', 'constructor'],
    ['the first of several', '{"a":{"b":1,"b":2},"a":3}', 'a.b'],
  ])('%s', (_where, text, path) => {
    expect(look(text).repeated?.join('.')).toBe(path);
  });

  test('values, and members of other maps, are none', () => {
    expect(look('{"a":"a","b":["a","a","b"],"c":{"a":1,"b":2},"d":[{"a":1},{"a":1}]}').repeated).toBeUndefined();
  });
});

/** Positions of numbers, and the way in which they are written. */
const numbersIn = (text: string) => {
  const listed = (numbers: Map<string | number, unknown> | undefined): unknown =>
    numbers && Object.fromEntries([...numbers].map(([key, one]) => [key, one instanceof Map ? listed(one) : one]));
  return listed(look(text).numbers);
};

test('of numbers only those are noted that would be written otherwise', () => {
  const text =
    '{"a":[1,1.10,{"b":1e3}],"c":{"d":{"e":-0}},"f":0.5,"g":-12,"h":12345678901234567890,"i":"1.10","j":1E5}';
  const rest = { h: '12345678901234567890', j: '1E5' };
  expect(numbersIn(text)).toEqual({ a: { 1: '1.10', 2: { b: '1e3' } }, c: { d: { e: '-0' } }, ...rest });
  expect(numbersIn('{"a":1.10,"a":2,"b":{"c":1.0},"b":{"c":2.00}}')).toEqual({ b: { c: '2.00' } });
});

test('what JSON.stringify writes has nothing twice and no number of another form', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(look(text)).toEqual({ isTooLarge: false });
    }),
  );
});

test('a text that is no JSON is read to its end', () => {
  const signs = fc.array(fc.constantFrom(...'{}[]"\\,:1- a'));
  fc.assert(
    fc.property(fc.string(), signs, (text, some) => {
      expect([look(text).isTooLarge, look(some.join('')).isTooLarge]).toEqual([false, false]);
    }),
  );
});

describe('of a text of ten megabytes', () => {
  const size = 10_000_000;
  test.each([
    ['a long text', `{"a":"${'\\"{,'.repeat(size / 4)}"}`, false],
    ['blanks', `{"a":[${' '.repeat(size)}]}`, false],
    ['long names', `{"${'n'.repeat(size / 2)}":1.10,"${'n'.repeat(size / 2)}":1.10}`, false],
    ['numbers below a long name', `{"${'n'.repeat(size - 400_000)}":[${'1.10,'.repeat(79_999)}1]}`, false],
    ['lists in lists', '['.repeat(size), true],
    ['small values', `[${'1,'.repeat(size / 2)}1]`, true],
    ['a long number', `[${'1'.repeat(size)}]`, false],
    ['marks that no list is around', ','.repeat(size), true],
    ['ends without a begin', ']'.repeat(size), false],
  ])('%s: read once', (_what, text, isTooLarge) => {
    expect(look(text).isTooLarge).toBe(isTooLarge);
  });
});
