import type { LoggerService } from '@nestjs/common';
import { CronJob } from 'cron';
import { expect, test } from 'vitest';
import { logConsoleLines } from './log.js';

const lines: string[] = [];
const logger: LoggerService = {
  log: () => undefined,
  debug: (line: string, context: string) => void lines.push(`debug ${context}: ${line}`),
  warn: (line: string, context: string) => void lines.push(`warn ${context}: ${line}`),
  error: (line: string, _cause: unknown, context: string) => void lines.push(`error ${context}: ${line}`),
};

test('a tick that the timer of a poller missed is worth a line for debugging and no more', () => {
  const { warn, error } = console;
  logConsoleLines(logger);
  const job = CronJob.from({ name: 'scheduler', cronTime: '* * * * * *', onTick: () => undefined });
  // What a busy machine does between two looks at the clock.
  job.cronTime.getTimeout = (
    (timeouts) => () =>
      timeouts.shift()!
  )([-20, 1_000]);
  try {
    job.start();
  } finally {
    void job.stop();
    Object.assign(console, { warn, error });
  }
  expect(lines).toEqual([expect.stringMatching(/^debug Pollers: \[Cron\] Missed execution deadline by 20ms/)]);
});

test('whatever else a library says on the console is logged', () => {
  lines.length = 0;
  const target = { warn: console.warn, error: console.error };
  logConsoleLines(logger, target);
  target.warn('deprecated:', 7);
  target.error('broken');
  expect(lines).toEqual(['warn Console: deprecated: 7', 'error Console: broken']);
});
