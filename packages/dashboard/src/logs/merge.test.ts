import fc from 'fast-check';
import { expect, test } from 'vitest';
import { merged, stampOf } from './merge';

test.each([
  ['2026-11-26T11:52:18.423Z INFO x', Date.UTC(2026, 10, 26, 11, 52, 18, 423)],
  ['[2026-11-26 11:52:18,423] x', Date.UTC(2026, 10, 26, 11, 52, 18, 423)],
  ['{"level":"info","time":"2026-11-26T12:52:18+01:00"}', Date.UTC(2026, 10, 26, 11, 52, 18)],
  ['11:52:18.4 x', ((11 * 60 + 52) * 60 + 18) * 1_000 + 400],
  ['no time', undefined],
  ['1234:56:78', undefined],
])('%j', (text, at) => expect(stampOf(text)).toBe(at));

const line = (at: number, text: string) => ({ at, text });

test('lines of several logs come by their times; those without one stay behind their predecessor', () => {
  const one = [line(0, '10:00:01 a'), line(11, '  at trace'), line(22, '10:00:03 c')];
  const two = [line(0, '10:00:02 b'), line(11, '10:00:03 d')];
  const texts = merged([
    { label: '1', lines: one },
    { label: '2', lines: two },
  ]).map(({ source, text }) => `${source} ${text}`);
  expect(texts).toEqual(['1 10:00:01 a', '1   at trace', '2 10:00:02 b', '1 10:00:03 c', '2 10:00:03 d']);
});

const anyLog = fc.array(
  fc.oneof(
    fc.integer({ min: 10, max: 59 }).map((second) => `10:00:${second} x`),
    fc.constant('  without'),
  ),
);

test('nothing is lost, and each log keeps its own order, also where its times go back', () =>
  fc.assert(
    fc.property(fc.array(anyLog, { maxLength: 4 }), (logs) => {
      const sources = logs.map((texts, index) => ({
        label: String(index),
        lines: texts.map((text, at) => line(at, text)),
      }));
      const lines = merged(sources);
      for (const { label, lines: own } of sources)
        expect(lines.filter(({ source }) => source === label).map(({ at }) => at)).toEqual(own.map(({ at }) => at));
      expect(lines).toHaveLength(logs.flat().length);
    }),
  ));
