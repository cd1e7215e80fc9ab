import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { monotonicMillis } from '../../platform/monotonic.js';
import { readStat } from '../processes/process-identity.js';
import { RunningReport } from './running-report.js';

/** A task whose program has begun, and the agent sees it `lateMillis` later. */
async function lateReport(container?: object) {
  const before = monotonicMillis();
  const child = spawn('sleep', ['600']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const after = monotonicMillis();
  const main = readStat(child.pid!)!;
  const sent: (number | undefined)[] = [];
  const report = new RunningReport(
    {} as never,
    {
      spec: { command: { shell: true, value: 'sleep 600', arguments: [] } },
      reports: { send: (_state: string, _message: string, { at }: { at?: number }) => Promise.resolve(sent.push(at)) },
      kill: { isAsked: false },
      container,
    } as never,
  );
  // The kernel counts the begin of a process in ticks of 10 ms.
  const tick = 10;
  const looksAt = after + 10 * tick;
  while (monotonicMillis() < looksAt) await new Promise((resolve) => setImmediate(resolve));
  return { report, started: { main, shim: main }, sent, from: before - tick, until: after + tick };
}

const isWithin = (at: number | undefined, { from, until }: { from: number; until: number }) => {
  expect(at).toBeGreaterThanOrEqual(from);
  expect(at).toBeLessThanOrEqual(until);
};

test('a task that is seen late runs since its program began', async () => {
  const late = await lateReport();
  await late.report.report(late.started);
  isWithin(late.sent[0], late);
});

test('a task that has ended before it was seen has run since its program began', async () => {
  const late = await lateReport();
  await late.report.reportUnseen(late.started, 0, monotonicMillis());
  isWithin(late.sent[0], late);
});

test('a container that has ended before it was seen has run by its end at the latest', async () => {
  const late = await lateReport({});
  await late.report.reportUnseen(late.started, 0, 12_345);
  expect(late.sent).toEqual([12_345]);
});
