import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/platform/database/connection.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { Installation, type Instance } from './support/product.js';

const slotMillis = 15_000;
const slowMachineMillis = 30_000;

/** Library of the Debian package `faketime`, in a directory that is named after the architecture. */
const library = readdirSync('/usr/lib')
  .map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path));
if (!library) console.warn('Left out: schedulers whose clocks are wrong, because libfaketime is not installed');

/** Only the clock on the wall is wrong: what Node waits by goes on as it should. */
const wrongBy = (offset: string): Record<string, string> => ({
  LD_PRELOAD: library!,
  FAKETIME: offset,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  DONT_FAKE_MONOTONIC: '1',
});

/** Times in epoch milliseconds. */
interface Run {
  runId: string | null;
  state: string;
  dueAt: number;
  startedAt: number;
  endedAt: number;
  now: number;
}

const runsSql =
  `SELECT run_id AS "runId", last_task_status AS state, ms(started_at) AS "startedAt", ms(updated_at) AS "endedAt",
  (data->'task'->'taskRequest'->'pendingTask'->'pendingTaskId'->>'nextRunAt')::float8 AS "dueAt", ms(clock_timestamp()) AS now
  FROM task_history WHERE request_id = $1 ORDER BY started_at`.replaceAll(
    /ms\(([a-z_()]+)\)/g,
    '(extract(epoch FROM $1) * 1000)::float8',
  );

describe.skipIf(!library)('of two schedulers one has a clock that is', () => {
  test.concurrent.for([
    { name: 'ten minutes ahead', offset: '+600', sign: '', said: '+' },
    { name: 'ten minutes behind', offset: '-600', sign: '-', said: '-' },
  ])(
    '$name, and they lead in turn: no slot runs twice or early, no run is lost',
    { timeout: 300_000 },
    async ({ offset, sign, said }, { onTestFinished }) => {
      const { url: databaseUrl, remove } = await createDatabase();
      const installation = new Installation({ databaseUrl });
      const sql = await connect(databaseUrl, 'test', 10_000);
      onTestFinished(async () => {
        await installation.dispose();
        await sql.end();
        await remove();
      });
      const runs = async (requestId: string): Promise<Run[]> => (await sql.query<Run>(runsSql, [requestId])).rows;
      const right = await installation.start();
      await right.leads(slowMachineMillis);
      const wrong = await installation.start(['scheduler'], wrongBy(offset));
      await right.api.saveRequest({ id: 'cron', requestType: 'SCHEDULED', quartzSchedule: '0/15 * * * * ?' });
      await right.api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
      const resources = { cpus: 0.1, memoryMb: 32 };
      for (const requestId of ['cron', 'job'])
        await right.api.deploy({ requestId, id: 'd1', command: 'true', resources });

      const accepted: string[] = [];
      const run = async ({ api }: Instance) => {
        const runId = `run-${accepted.length}`;
        await api.post('requests/request/job/run', { runId });
        accepted.push(runId);
      };
      /** Calls are taken by both, whichever leads. */
      const twoSlots = async (callers: Instance[]) => {
        const before = (await runs('cron')).length;
        for (const caller of callers) await run(caller);
        const isDone = async () => {
          const ended = new Set((await runs('job')).map(({ runId }) => runId));
          return (await runs('cron')).length >= before + 2 && accepted.every((runId) => ended.has(runId));
        };
        // Far from the ten minutes for which plans of a wrong clock would wait.
        await waitFor('two slots and the runs asked for', isDone, {
          timeoutMillis: 4 * slotMillis + slowMachineMillis,
        });
      };
      await twoSlots([right, wrong]);
      await right.api.post('disasters/failover');
      await run(right);
      await wrong.leads(slowMachineMillis);
      await twoSlots([right, wrong]);
      expect(wrong.output).toMatch(new RegExp(`Clock skew to the database: [${said}](599|600)\\.\\d s`));
      const metrics = await (await fetch(`${wrong.api.url}/metrics`)).text();
      expect(metrics).toMatch(new RegExp(`muster_clock_skew_seconds ${sign}(599|600)`));
      await wrong.kill9();
      await run(right);
      await right.leads(slowMachineMillis);
      await twoSlots([right]);

      const [crons, jobs] = [await runs('cron'), await runs('job')];
      expect(jobs.map(({ runId }) => runId).toSorted()).toEqual(accepted.toSorted());
      const slots = crons.map(({ dueAt }) => dueAt);
      expect(new Set(slots).size).toBe(slots.length);
      const all = (Math.max(...slots) - Math.min(...slots)) / slotMillis + 1;
      // One may fall into each of the two changes.
      expect(slots.length).toBeGreaterThanOrEqual(all - 2);
      for (const { dueAt, startedAt } of crons) expect(startedAt).toBeGreaterThanOrEqual(dueAt);
      for (const { state, dueAt, startedAt, endedAt, now } of [...crons, ...jobs]) {
        expect(state).toBe('TASK_FINISHED');
        expect(startedAt - dueAt).toBeLessThan(slowMachineMillis);
        expect(endedAt - startedAt).toBeLessThan(slowMachineMillis);
        expect(endedAt).toBeGreaterThanOrEqual(startedAt);
        expect(endedAt).toBeLessThanOrEqual(now);
      }
    },
  );
});
