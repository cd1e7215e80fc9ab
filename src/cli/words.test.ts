import { expect, test } from 'vitest';
import { matches } from './commands/look.js';
import { looksLikeTask } from './commands/history.js';
import { cleanUrl } from './remote/address.js';
import { durationMillis, shownDuration, wholeNumber } from './words.js';

test.each([
  ['90', 90_000],
  ['90s', 90_000],
  ['2h30m', 9_000_000],
  ['1d', 86_400_000],
  ['500ms', 500],
])('%s are %i ms', (text, millis) => expect(durationMillis('--for', text)).toBe(millis));
test.each(['', 'h', '-5s', '5 m', '1w', '5m!'])("'%s' is no time", (text) =>
  expect(() => durationMillis('--for', text)).toThrow('--for must be a time'),
);
test.each(['', '0', '-1', '1.5', '1e3', '1001'])("'%s' is not from 1 to 1000", (text) =>
  expect(() => wholeNumber('--count', text, 1, 1_000)).toThrow('--count must be a whole number from 1 to 1000'),
);
test.each([
  [4_000, '4s'],
  [61_000, '1m1s'],
  [7_260_000, '2h1m'],
  [90_000_000, '1d1h'],
  [-5, '0s'],
])('%i ms are shown as %s', (millis, shown) => expect(shownDuration(millis)).toBe(shown));

test.each([
  ['web-front', 'front', true],
  ['web-front', 'WEB*', true],
  ['web-front', '*web', false],
  ['web-front', 'web.front', false],
  ['web.front', '*.front*', true],
])('%s by %s: %s', (id, pattern, is) => expect(matches(id, pattern)).toBe(is));

test.each([
  ['web-v1-1795419885387-1-localhost-rack1', true],
  ['a-b-c-v1.rollback1-1795419885387-12-host_1-rack_1', true],
  ['web', false],
  ['my-web-2026-11-23', false],
])('%s may name a task: %s', (id, is) => expect(looksLikeTask(id)).toBe(is));

test.each([
  ['http://localhost:7099/api/', 'http://localhost:7099'],
  ['https://a.example/singularity', 'https://a.example/singularity'],
])('%s is the address %s', (text, url) => expect(cleanUrl('--url', text)).toBe(url));
test.each(['localhost:7099', 'ftp://a', 'http://user:secret@a', ''])("'%s' is no address", (text) =>
  expect(() => cleanUrl('--url', text)).toThrow('--url must be an address'),
);
