import { expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { Scene } from './scene.js';

const operations = operationsOf(['Flows']);
const scene = new Scene(operations);

interface Flow {
  id: string;
  runs: { requestId: string; state: string; taskId?: string }[];
}
const flow = (flowId: string) => operations.call<Flow>('GET /api/flows/{flowId}', 200, { params: { flowId } });
/** Waits until the flow has run so far. */
const runsOf = (flowId: string, wanted: string[]) =>
  waitFor(`the flow to have ${wanted.join(', ')}`, async () => {
    const { runs } = await flow(flowId);
    const told = runs.map(({ requestId, state }) => `${requestId} ${state}`);
    return told.join() === wanted.join() ? runs : undefined;
  });

test('jobs run after each other, tell each other something, and run again', async () => {
  const job = { requestType: 'ON_DEMAND' } as const;
  await scene.request({ id: 'load', ...job });
  await scene.request({ id: 'report', ...job, after: [{ requestId: 'load', on: 'SUCCESS' }] });
  await scene.deploy('load', { command: `printf '{"rows":"12"}' > outputs.json`, shell: true });
  await scene.deploy('report', {
    command: 'echo "$TASK_PARENT_ROWS rows of $TASK_PARENT_RUNS"; test -e ../no',
    shell: true,
  });
  for (const id of ['load', 'report'])
    await scene.until(id, 'its deploy', ({ activeDeploy }) => activeDeploy !== undefined);
  const around = { params: { requestId: 'report' } };
  const none = { params: { flowId: 'none' } };
  await scene.refuses('GET /api/flows/{flowId}', 404, none);
  await scene.refuses('GET /api/requests/request/{requestId}/flow', 404, { params: { requestId: 'nobody' } });
  await scene.refuses('POST /api/flows/{flowId}/rerun', 404, { ...none, body: { from: 'load' } });

  await operations.api.post('requests/request/load/run', {});
  const id = await waitFor('the first run to have ended', async () => {
    const { requests } = await operations.call<{ requests: { lastRun?: { flowId: string } }[] }>(
      'GET /api/requests/request/{requestId}/flow',
      200,
      around,
    );
    return requests[0]?.lastRun?.flowId;
  });
  const [load, report] = await runsOf(id, ['load SUCCESS', 'report FAILURE']);
  const read = await operations.api.get<{ data: string }>(`sandbox/${report!.taskId!}/read?path=stdout&offset=0`);
  expect(read.data.trim()).toBe(`12 rows of ${load!.taskId!}`);

  const again = { params: { flowId: id }, body: { from: 'report' } };
  expect(await operations.call<Flow>('POST /api/flows/{flowId}/rerun', 200, again)).toMatchObject({ id });
  await runsOf(id, ['load SUCCESS', 'report FAILURE', 'report FAILURE']);
  await scene.refuses('POST /api/flows/{flowId}/rerun', 400, { params: { flowId: id }, body: {} });
});

everyOperationWasCalled(operations);
