import { describe, expect, test } from 'vitest';
import { behindOf, figures, isSteady, medians, readOptions, tableOf } from './report.js';

describe('options', () => {
  test('without any, all figures of both sides are measured once', () => {
    const { only, ...rest } = readOptions([]);
    expect(rest).toEqual({ seconds: 8, rounds: 1, requests: 1_000, workers: undefined, skipOriginal: false });
    expect([...only]).toEqual(figures.map(({ key }) => key));
  });

  test('each is taken', () => {
    const given = '--seconds 1 --rounds 2 --requests 50 --workers 2 --skip-original --only state,create';
    const { only, ...rest } = readOptions(given.split(' '));
    expect(rest).toEqual({ seconds: 1, rounds: 2, requests: 50, workers: 2, skipOriginal: true });
    expect([...only]).toEqual(['state', 'create']);
  });

  test.each([
    ['--seconds 0', '--seconds must be a whole number from 1 to 600'],
    ['--rounds 1.5', '--rounds must be a whole number from 1 to 20'],
    ['--requests many', '--requests must be a whole number from 1 to 10000'],
    ['--workers 65', '--workers must be a whole number from 0 to 64'],
    ['--only state,stat', "--only: there is no figure 'stat'; there are memory, "],
    ['--second 3', "Unknown option '--second'"],
  ])('%s is refused', (given, message) => {
    expect(() => readOptions(given.split(' '))).toThrow(message);
  });
});

test('the keys of the figures differ', () => {
  expect(new Set(figures.map(({ key }) => key)).size).toBe(figures.length);
});

test.each([
  { rates: [], steady: false },
  { rates: [100, 100], steady: false },
  { rates: [100, 101, 102], steady: true },
  { rates: [100, 120, 121], steady: false },
  { rates: [100, 120, 121, 119], steady: true },
  { rates: [100, 150, 140, 151], steady: true },
  { rates: [100, 150, 140, 160], steady: false },
])('a warm-up with the rates $rates is steady: $steady', ({ rates, steady }) => {
  expect(isSteady(rates)).toBe(steady);
});

test('of several rounds the medians are told', () => {
  const rounds = [1, 9, 2].map((value) => new Map([['state', { value, p50: value * 10 }]]));
  expect(medians(rounds).get('state')).toEqual({ value: 2, p50: 20 });
  expect(medians(rounds.slice(0, 2)).get('state')).toEqual({ value: 5, p50: 50 });
});

test('the table has both sides, the ratio, and what is better with less the other way round', () => {
  const original = new Map([
    ['state', { value: 8_000, p50: 2, p99: 10, bytes: 1_120, cpuMillis: 0.2 }],
    ['memory', { value: 1_650 }],
  ]);
  const muster = new Map([
    ['state', { value: 6_000.4, p50: 1.75, p99: 12.34, bytes: 1_168, cpuMillis: 0.251 }],
    ['memory', { value: 300 }],
  ]);
  expect(tableOf(original, muster).split('\n')).toEqual([
    '|                            | original | Muster | ratio | p50, ms  | p99, ms   | CPU of a call, ms | bytes         |',
    '| -------------------------- | -------- | ------ | ----- | -------- | --------- | ----------------- | ------------- |',
    '| memory of the service, MiB | 1,650    | 300    | 5.5   |          |           |                   |               |',
    '| `/state`                   | 8,000    | 6,000  | 0.75  | 2 / 1.75 | 10 / 12.3 | 0.2 / 0.25        | 1,120 / 1,168 |',
  ]);
  expect(behindOf(original, muster)).toBe('Muster is behind in: `/state` (0.75)');
  expect(behindOf(new Map(), muster)).toBe('Muster is behind in nothing of this.');
});
