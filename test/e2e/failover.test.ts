import { expect, test } from 'vitest';
import { fileURLToPath } from 'node:url';
import { spawnNode } from '../support/spawn.js';
import { waitFor } from '../support/wait-for.js';

const bench = fileURLToPath(new URL('../bench/failover.mjs', import.meta.url));

interface Outcome {
  fault: string;
  othersFirstStartMillis: number;
  runsAccepted: number;
  lost: number;
  doubled: number;
  workersReplaced: number;
  lateWrites: unknown[];
  refusedWrite: string;
  refusedLaunch: string;
}

/** The other tests compute meanwhile; `npm run bench:failover` measures the time. */
const longestMillis = 15_000;

const all = [
  'kill -9 of the leader',
  'SIGSTOP of the leader for 8 s',
  'its database connections broken and refused',
  'its database connections silent',
  'taken over by force while it works',
];

/** The program of the benchmark, with shorter faults than usual. */
test.each([
  { what: 'a leader', workers: '0', faults: all },
  // Its workers go on taking calls while it is frozen, and end with it.
  { what: 'a leader with API workers', workers: '1', faults: all.slice(0, 2) },
])(
  'under load $what that is killed, frozen or cut off is replaced: what it tries is refused, no task is doubled or lost',
  async ({ workers, faults }) => {
    const times = ['--stop-seconds', '8', '--cut-seconds', '5', '--machines', '0', '--busy-minutes', '0'];
    const run = spawnNode([bench, ...times, '--faults', String(faults.length)], { MUSTER_HTTP_WORKERS: workers });
    try {
      const { outcomes } = JSON.parse(`{${await run.line('{', 240_000)}`) as { outcomes: Outcome[] };
      expect(outcomes.map(({ fault }) => fault)).toEqual(faults);
      for (const outcome of outcomes) {
        expect(outcome).toMatchObject({ lost: 0, doubled: 0, workersReplaced: 0, lateWrites: [] });
        expect(outcome.runsAccepted).toBeGreaterThan(0);
        expect(outcome.refusedWrite).toMatch(/^refused: .*epoch \d+ is over$/);
        expect(outcome.refusedLaunch).toMatch(/^409: /);
        expect(outcome.othersFirstStartMillis).toBeLessThan(longestMillis);
      }
    } finally {
      await waitFor('the end of the program', () => run.child.exitCode !== null, { timeoutMillis: 30_000 }).catch(() =>
        // It ends what it started first.
        run.kill('SIGTERM'),
      );
    }
  },
  300_000,
);
