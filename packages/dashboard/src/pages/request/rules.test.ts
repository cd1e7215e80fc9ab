import { expect, test } from 'vitest';
import type { Deploy, Request } from 'muster-client';
import { rulesOfDeploy, rulesOfRequest } from './rules';

const shown = (at: number): string => `at ${at}`;

test.each<[Partial<Request>, string, string]>([
  [{ schedule: '0 9 * * *' }, 'Schedule', '0 9 * * * (UTC)'],
  [
    { schedules: [{ schedule: '0 9 * * *', scheduleTimeZone: 'Asia/Tokyo' }, { schedule: 'H * * * *' }] },
    'Schedule',
    '0 9 * * * (Asia/Tokyo); H * * * * (UTC)',
  ],
  [{ overlapPolicy: 'BUFFER_ONE' }, 'Overlapping runs', 'buffer one'],
  [{ missedRuns: { policy: 'SKIP', withinMillis: 3_600_000 } }, 'Missed times', 'skip, late by at most 1 h'],
  [{ scheduleJitterMillis: 90_000 }, 'Spread over', '1 m 30 s'],
  [
    {
      exclusions: [
        { schedule: '0 22 * * *', durationMillis: 60_000 },
        { from: 1, to: 2 },
      ],
      scheduleTimeZone: 'CET',
    },
    'No runs',
    '0 22 * * * (CET) for 1 m; at 1 to at 2',
  ],
  [
    { deployWindows: [{ schedule: '0 9 * * MON-THU', durationMillis: 28_800_000 }] },
    'Deploys only',
    '0 9 * * MON-THU (UTC) for 8 h',
  ],
  [{ endAt: 5 }, 'Runs from, until', 'until at 5'],
  [{ maxRuns: 3 }, 'Most runs', '3'],
  [{ retry: { attempts: 2, onLost: false } }, 'Retries', '2, not of lost tasks'],
  [
    { retry: { attempts: 2, delayMillis: 1_000, backoffFactor: 2, notOnExitCodes: [1, 2] } },
    'Retries',
    '2, after 1 s, each delay times 2, not of exit codes 1 2',
  ],
  [{ pauseAfterFailures: 4 }, 'Paused after', 'failed runs in a row: 4'],
  [{ restart: {} }, 'Restarts', 'with delays that grow'],
  [{ restart: { maxRestarts: 0 } }, 'Restarts', 'most in a row 0'],
  [
    { after: [{ requestId: 'load', on: 'END' }], afterMode: 'ANY', argsFrom: 'PARENT' },
    'Follows',
    'end of load, each by itself, with its arguments',
  ],
  [{ concurrencyGroup: { name: 'db', limit: 2 } }, 'Concurrency group', 'db, at most 2'],
  [{ keepRuns: { count: 5, days: 7 } }, 'Kept runs', 'the newest 5, those of 7 days'],
])('%j is told as %s: %s', (members, name, text) =>
  expect(rulesOfRequest({ id: 'job', requestType: 'SCHEDULED', ...members } as Request, shown)).toEqual([[name, text]]),
);

test('what is not set is not told', () => {
  expect(rulesOfRequest({ id: 'web', requestType: 'SERVICE' } as Request, shown)).toEqual([]);
  expect(rulesOfDeploy({ requestId: 'web', id: '1' } as Deploy)).toEqual([]);
});

test('a deploy tells how its tasks are checked and how they end', () =>
  expect(
    rulesOfDeploy({
      healthcheck: { type: 'COMMAND', command: 'check', liveness: { intervalSeconds: 5, action: 'NONE' } },
      killSignal: 'SIGQUIT',
      killGracePeriodMillis: 60_000,
      preStop: { http: { uri: '/drain' }, timeoutMillis: 20_000 },
      tasks: { init: [{ name: 'a' }, { name: 'b' }], post: [{ name: 'c' }] },
    } as Deploy),
  ).toEqual([
    ['Health check', 'COMMAND, check'],
    ['Liveness', 'each 5 s, 3 failures in a row, only reported'],
    ['Before its end', '/drain, at most 20 s'],
    ['Init steps', 'a, b'],
    ['Post steps', 'c'],
    ['End', 'SIGQUIT, killed after 1 m'],
  ]));
