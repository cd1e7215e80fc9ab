import { describe, expect, test } from 'vitest';
import { numberedKey, objectKey } from './object-key.js';

const facts = {
  name: 'gc.2026.log.gz',
  changedAt: Date.UTC(2026, 0, 5, 3, 59, 59, 999) + 0.7,
  index: 7,
  guid: 'a-b-c',
  host: 'host-1',
};

describe('the key of a file', () => {
  test.each([
    ['%filename', 'gc.2026.log.gz'],
    ['x%fileext', 'x.gz'],
    ['%Y/%m/%d/%H', '2026/01/05/03'],
    ['%s-%index', '1767585599999-7'],
    ['%guid@%host', 'a-b-c@host-1'],
    ['%requestId/%unknown/100%', '%requestId/%unknown/100%'],
    ['%filename/%filename', 'gc.2026.log.gz/gc.2026.log.gz'],
  ])('%s is %s', (pattern, key) => expect(objectKey(pattern, facts)).toBe(key));

  test('has no ending where the file has none', () =>
    expect(objectKey('x%fileext', { ...facts, name: 'stdout' })).toBe('x%fileext'));

  test('fills in nothing of what a file is called', () =>
    expect(objectKey('%filename-%index', { ...facts, name: '%guid%index' })).toBe('%guid%index-7'));

  test('has signs in place of those that no list of keys shows', () =>
    expect(objectKey('%filename', { ...facts, name: 'a\nb\u0000c\u007f\uffff' })).toBe('a_b_c__'));

  test('is no longer than stores take, with a number at its end, and cuts no character in two', () => {
    const key = objectKey('x%filename', { ...facts, name: 'ä'.repeat(600) });
    expect(key).toBe(`x${'ä'.repeat(499)}`);
    expect(Buffer.byteLength(numberedKey(key, 999))).toBeLessThanOrEqual(1_024);
  });
});
