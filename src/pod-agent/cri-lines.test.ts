import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type OpenLine, takeLines } from './cri-lines.js';

const time = '2026-11-23T14:28:11.669794202Z';

/** As the follower does: what was not used is seen again, with what comes after it. */
function inPieces(text: Buffer, sizes: number[]): { stdout: string; stderr: string } {
  const out = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let within: OpenLine | undefined;
  let at = 0;
  for (let until = 0, turn = 0; at < text.length && turn < 100_000; turn++) {
    until = Math.min(text.length, until + (sizes[turn % sizes.length] ?? 1));
    const taken = takeLines(text.subarray(at, until), within);
    out.stdout.push(...taken.stdout);
    out.stderr.push(...taken.stderr);
    at += taken.used;
    within = taken.within;
  }
  return { stdout: Buffer.concat(out.stdout).toString(), stderr: Buffer.concat(out.stderr).toString() };
}

test.each([
  {
    of: `${time} stdout F one\n${time} stderr F two\n${time} stdout F three\n`,
    stdout: 'one\nthree\n',
    stderr: 'two\n',
  },
  { of: `${time} stdout P on\n${time} stdout F e\n`, stdout: 'one\n', stderr: '' },
  { of: `${time} stdout P a\n${time} stderr F between\n${time} stdout F b\n`, stdout: 'ab\n', stderr: 'between\n' },
  { of: `${time} stdout F \n${time} stderr P \n`, stdout: '\n', stderr: '' },
  { of: `${time} stderr F:more:tags x stdout F y\n`, stdout: '', stderr: 'x stdout F y\n' },
  { of: `no head\n${time} stdout F x\n`, stdout: 'no head\nx\n', stderr: '' },
  { of: `${time} stdout F not yet ended`, stdout: 'not yet ended', stderr: '' },
  { of: `${time} stdo`, stdout: '', stderr: '' },
])('$of', ({ of, stdout, stderr }) =>
  expect(takeLines(Buffer.from(of), undefined)).toMatchObject({
    stdout: stdout === '' ? [] : (expect.anything() as unknown),
    stderr: stderr === '' ? [] : (expect.anything() as unknown),
  }),
);

test('in whatever pieces it comes, each stream gets its text once and in order', () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          stream: fc.constantFrom('stdout' as const, 'stderr' as const),
          tag: fc.constantFrom('P', 'F'),
          text: fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.replaceAll('\n', ' ')),
        }),
        { maxLength: 20 },
      ),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
      (lines, sizes) => {
        const file = lines.map(({ stream, tag, text }) => `${time} ${stream} ${tag} ${text}\n`).join('');
        const wanted = (of: string) =>
          lines.flatMap(({ stream, tag, text }) => (stream === of ? [text + (tag === 'F' ? '\n' : '')] : [])).join('');
        expect(inPieces(Buffer.from(file), sizes)).toEqual({ stdout: wanted('stdout'), stderr: wanted('stderr') });
      },
    ),
  ));
