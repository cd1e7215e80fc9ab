import { afterAll, beforeAll, expect, test } from 'vitest';
import { Life } from '../../../test/support/life.js';
import { builtInUser } from '../../core/authorization/access-rules.js';
import { ExplainService } from '../../scheduler/explain/explain.service.js';
import { HistoryModule } from '../history/history.module.js';
import { DeployHistories } from '../history/request-histories.service.js';
import { RequestParents } from '../requests/request-parents.service.js';
import { DeployHistoryRepository } from './deploy-history.repository.js';
import { DeploysService } from './deploys.service.js';

let life: Life;
beforeAll(async () => {
  life = await Life.begin({ machines: 1, modules: [HistoryModule] });
});
afterAll(() => life.close());

test('a deploy that cannot be placed says why, while it waits and when it has given up', async () => {
  await life.save('big');
  const deploy = { requestId: 'big', id: 'd1', command: 'serve', resources: { cpus: 49, memoryMb: 1 } };
  await life.deploy('big', 'd1', { deploy });
  await life.run(5);
  const why = /^No slave of 1 can take it: 1 too small in cpus \(the task asks for 49 cores; it has \d+, \d+ free\)$/;
  const parent = (await life.get(RequestParents).read(['big'])).get('big');
  expect(parent!.pendingDeployState?.waitsBecause).toMatch(why);
  const told = [
    (await life.get(DeploysService).pending())[0],
    await life.get(DeployHistories).find('big', 'd1', {}),
    (await life.get(ExplainService).request('big', builtInUser)).pendingTasks[0],
    ...(await life.world.query<object>('SELECT waits_because FROM v_deploy_outcome')),
    ...(await life.world.query<object>('SELECT message FROM v_waiting_task')),
  ].map((one) => Object.values(one!).find((text) => why.test(String(text))));
  expect(new Set(told)).toEqual(new Set([parent!.pendingDeployState?.waitsBecause]));

  const ended = async () =>
    (await life.get(DeployHistoryRepository).list(life.world.db.pool, 'big', { count: 1, offset: 0 }))[0];
  await life.until('it gives up', async () => (await ended())?.deployResult !== undefined, 300);
  const { deployResult } = (await ended())!;
  expect((await life.get(DeployHistories).find('big', 'd1', {})).waitsBecause).toBeUndefined();
  expect(deployResult).toMatchObject({
    deployState: 'OVERDUE',
    message: expect.stringMatching(
      /^Only 0 of 1 .*\. No slave of 1 can take it: .*asks for 49 cores; it has \d+/,
    ) as string,
  });
});

test('of a late deploy with a task that never ran, the instance without a place says why it has none', async () => {
  life.world.cluster.onLaunch(() => ({ startAfter: 3_600_000 }));
  await life.save('half', { instances: 2 });
  const deploy = { requestId: 'half', id: 'd1', command: 'serve', resources: { cpus: 9, memoryMb: 1 } };
  await life.deploy('half', 'd1', { deploy });
  const result = async () =>
    (await life.get(DeployHistoryRepository).list(life.world.db.pool, 'half', { count: 1, offset: 0 }))[0]
      ?.deployResult;
  await life.until('it gives up', async () => (await result()) !== undefined, 300);
  expect(await result()).toMatchObject({
    deployState: 'OVERDUE',
    deployFailures: [
      { reason: 'TASK_NEVER_ENTERED_RUNNING', taskId: { instanceNo: 1 } },
      {
        reason: 'TASK_COULD_NOT_BE_SCHEDULED',
        message: expect.stringMatching(
          /^Only 1 of 2 tasks .* missing: instance 2\. No slave of 1 can take it: .*asks for 9 cores/,
        ) as string,
      },
    ],
  });
});
