import { afterEach, beforeEach, expect, test } from 'vitest';
import { ann, Life } from '../../test/support/life.js';
import type { DeleteRequestRequest, Request } from '../core/model/request.js';
import { Deletions } from '../modules/requests/actions/deletions.service.js';
import { Pauses } from '../modules/requests/actions/pauses.service.js';
import { Runs } from '../modules/requests/actions/runs.service.js';
import { builtInUser } from '../core/authorization/access-rules.js';
import { ExplainService } from './explain/explain.service.js';

let life: Life;
beforeEach(async () => (life = await Life.begin({ machines: 1 })));
afterEach(() => life.close());

const caller = ann as never;
const remove = (options: DeleteRequestRequest) => life.get(Deletions).delete('job', options, caller);
const kills = () =>
  life.world.query<{ grace: number }>('SELECT grace_millis::int AS grace FROM killed_task ORDER BY task_id');
const ends = async () =>
  (await life.world.query<{ end: string }>(`SELECT last_task_status AS end FROM task_history ORDER BY task_id`)).map(
    ({ end }) => end,
  );
async function running(request: Partial<Request> = {}): Promise<void> {
  life.world.cluster.onLaunch(() => ({ runFor: 30_000, stopAfter: 600_000 }));
  await life.save('job', { requestType: 'ON_DEMAND', ...request });
  await life.deploy('job', 'd1');
  await life.run(2);
  if (request.requestType === undefined) await life.get(Runs).run('job', { runId: 'r' }, { minimal: true }, caller);
  await life.run(2);
  expect(await life.world.active()).toHaveLength(1);
}

test('a removal that waits lets the run end, begins nothing meanwhile, and says so, whoever leads', async () => {
  await running();
  await life.get(Pauses).pause('job', { killTasks: false }, caller);
  await life.run(2);
  await remove({ waitForTasks: true });
  await life.run(5);
  const about = await life.get(ExplainService).request('job', builtInUser);
  expect(about).toMatchObject({ state: 'DELETING', message: expect.stringContaining('runs to end (1)') as string });
  await life.world.crash();
  await life.run(5);
  expect([await kills(), await life.state('job')]).toEqual([[], 'DELETING']);
  await life.until('the run has ended', async () => (await life.state('job')) === undefined);
  expect(await ends()).toEqual(['TASK_FINISHED']);
});

test('a later call hastens it: with the grace of a kill, then at once; none slows it down', async () => {
  await running();
  await remove({ waitForTasks: true });
  await life.run(2);
  await remove({});
  await life.run(2);
  const [{ grace } = { grace: 0 }] = await kills();
  expect(grace).toBeGreaterThan(5_000);
  await remove({ force: true });
  await remove({ waitForTasks: true });
  await life.until('nothing is left', async () => (await life.state('job')) === undefined, 5);
});

test('a forced removal gives no grace', async () => {
  await running({ requestType: 'SERVICE' });
  await remove({ force: true });
  await life.until('nothing is left', async () => (await life.state('job')) === undefined, 5);
  expect(await ends()).toEqual(['TASK_KILLED']);
});

test.each([
  ['beside force', {}, { force: true, waitForTasks: true }],
  ['for tasks that never end', { requestType: 'SERVICE' as const }, { waitForTasks: true }],
])('waitForTasks is refused %s', async (_, request, options) => {
  await life.save('job', { requestType: 'ON_DEMAND', ...request });
  await expect(remove(options)).rejects.toMatchObject({ errors: [{ field: 'waitForTasks', rule: 'consistent' }] });
  expect(await life.state('job')).toBe('ACTIVE');
});
