import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { handOverMessage, nextSlot, plannedUpTo } from '../../packages/migrate/src/import-from/next-slot.js';
import { ann, Life } from '../../test/support/life.js';
import type { Request } from '../core/model/request.js';
import { Pauses } from '../modules/requests/actions/pauses.service.js';
import { RequestLists } from '../modules/requests/request-lists.service.js';
import { RequestReads } from '../modules/requests/request-reads.service.js';
import { RequestRepository } from '../modules/requests/request.repository.js';
import { builtInUser } from '../core/authorization/access-rules.js';
import { ExplainService } from './explain/explain.service.js';

/** Ends hours, minutes and seconds apart from whatever the rule counts. */
const minute = 60_000;
const hour = 60 * minute;
const rule = 'FREQ=HOURLY;INTERVAL=5';

let life: Life;
beforeAll(async () => (life = await Life.begin({ startAt: Date.parse('2026-01-05T09:07:42Z') })));
afterAll(() => life.close());
let id: string;
let made = 0;
beforeEach(() => (id = `job${++made}`));

const job = (changes: Partial<Request> = {}) =>
  life.save(id, { requestType: 'SCHEDULED', schedule: rule, scheduleType: 'RFC5545', ...changes });
const later = async (millis: number) => {
  await life.world.cluster.advance(millis);
  await life.run(2);
};
const iso = (at: number | undefined): string | undefined => (at === undefined ? undefined : new Date(at).toISOString());

/** Time of its next run, by each source that reports it. */
async function told() {
  const parent = await life.get(RequestReads).one(id);
  const [listed] = (await life.get(RequestLists).list({ nextRuns: true, limit: 100 }, ann as never)).filter(
    ({ request }) => request.id === id,
  );
  const explained = await life.get(ExplainService).request(id, builtInUser);
  const planned = await life.world.query<{ next_run_at: Date }>(
    'SELECT next_run_at FROM v_next_run WHERE request_id = $1',
    [id],
  );
  const all = [parent.nextRuns?.[0]?.at, listed?.nextRuns?.[0]?.at, explained.nextRuns?.[0]?.at];
  return [
    ...all,
    ...explained.pendingTasks.map(({ pendingTaskId }) => pendingTaskId.nextRunAt),
    ...planned.map((run) => run.next_run_at.getTime()),
  ].map(iso);
}
const fiveTimes = (at: number) => Array<string | undefined>(5).fill(iso(at));
const minuteOf = (at: number) => at - (at % minute);

describe('the next run of a rule without a start is one time, whoever tells it', () => {
  const paused = async () => {
    await life.get(Pauses).pause(id, {}, ann as never);
    await life.run(2);
  };
  test.each<{ name: string; change: () => Promise<unknown>; starts: 'when saved' | 'anew' | number }>([
    { name: 'also later', change: () => Promise.resolve(), starts: 'when saved' },
    { name: 'saved again as it is', change: () => job({ owners: ['ann@example.com'] }), starts: 'when saved' },
    { name: 'deployed again', change: () => life.deploy(id, 'd2'), starts: 'when saved' },
    {
      name: 'after a pause',
      change: async () => (await paused(), life.get(Pauses).unpause(id, {}, ann as never)),
      starts: 'when saved',
    },
    { name: 'in the hands of another leader', change: () => life.world.crash(), starts: 'when saved' },
    { name: 'with another rule', change: () => job({ schedule: 'FREQ=HOURLY;INTERVAL=7' }), starts: 'anew' },
    { name: 'in another zone', change: () => job({ scheduleTimeZone: 'Asia/Kolkata' }), starts: 'anew' },
    {
      name: 'with another rule that a deploy brings',
      change: () => {
        const updatedRequest: Request = {
          id,
          requestType: 'SCHEDULED',
          schedule: `${rule};WKST=SU`,
          scheduleType: 'RFC5545',
        };
        return life.deploy(id, 'd2', { updatedRequest });
      },
      starts: 'anew',
    },
    {
      name: 'in another notation',
      change: () => job({ schedule: '0 4 * * *', scheduleType: 'CRON' }),
      starts: Date.parse('2026-01-05T04:00:00Z'),
    },
    {
      name: 'taken over from where it was planned last',
      change: async () => {
        await paused();
        const { now, db } = life.world;
        const events = [{ createdAt: now - 10 * minute, eventType: 'PAUSED', message: handOverMessage }];
        const resting = { events, tasks: [] };
        await db.transaction(async (tx) => {
          const stored = await life.get(RequestRepository).lock(tx, id);
          const plannedFor = nextSlot(stored!.request, resting, now);
          const given = { ...stored!, scheduleSince: plannedUpTo(resting, now) };
          await life.get(Pauses).endPause(tx, given, { now, options: {}, plannedFor });
        });
      },
      starts: -10 * minute,
    },
  ])('$name', async ({ change, starts }) => {
    await job();
    const saved = life.world.now;
    await life.deploy(id, 'd1');
    await life.run(2);
    expect(await told()).toEqual(fiveTimes(minuteOf(saved) + 5 * hour));
    await later(97 * minute);
    await change();
    const changed = life.world.now;
    await life.run(3);
    const [first] = await told();
    expect(await told()).toEqual(Array(5).fill(first));
    if (starts === 'when saved') expect(first).toBe(iso(minuteOf(saved) + 5 * hour));
    else if (starts !== 'anew' && starts > 0) expect((Date.parse(first!) - starts) % (24 * hour)).toBe(0);
    else if (starts !== 'anew') expect(Date.parse(first!) - minuteOf(changed + starts)).toBeCloseTo(5 * hour, -6);
    else expect(Date.parse(first!)).toBeGreaterThan(changed + 4 * hour);
    await later(41 * minute);
    expect(await told()).toEqual(Array(5).fill(first));
  });
});

test('a rule with COUNT runs so often from when it was saved, and its request finishes', async () => {
  life.world.cluster.onLaunch(() => ({ runFor: 100 }));
  await job({ schedule: 'FREQ=SECONDLY;INTERVAL=20;COUNT=2' });
  await life.deploy(id, 'd1');
  await life.run(70);
  const runs = await life.world.query(
    'SELECT task_id FROM task WHERE request_id = $1 UNION SELECT task_id FROM task_history WHERE request_id = $1',
    [id],
  );
  expect(runs).toHaveLength(2);
  expect(await life.state(id)).toBe('FINISHED');
});
