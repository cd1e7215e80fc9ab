import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeployHistory } from '../../src/core/model/deploy.js';
import type { RequestHistory } from '../../src/core/model/request.js';
import type { TaskHistoryUpdate, TaskIdHistory } from '../../src/core/model/task.js';
import { startReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { operationsOf } from './operations.js';
import { serving, sleepDeploy } from './running-tasks.js';

/*
 * What webhooks are told of real actions, member by member: the same records as the history keeps and answers. Those of type
 * ELEVATED_ACCESS: src/modules/auth/elevated-access.test.ts.
 */

const operations = operationsOf([], { settings: { crashLoop: { cooldownFailureThreshold: 0 } } });
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  receiver = await startReceiver();
  const { api } = operations;
  const uris = {
    REQUEST: '$REQUEST_ID',
    DEPLOY: '$REQUEST_ID/$DEPLOY_ID',
    TASK: '$REQUEST_ID/$DEPLOY_ID/$TASK_ID',
    CRASHLOOP: '$REQUEST_ID/$DEPLOY_ID',
  };
  for (const [type, path] of Object.entries(uris)) {
    await api.post('webhooks', { type, uri: `${receiver.url}/${type}/${path}` });
  }
  // Ends well, again and again, which is not what a worker does: the first look at crash loops after a minute finds it.
  await api.saveRequest({ id: 'restless', requestType: 'WORKER' });
  await api.deploy(sleepDeploy('restless', { command: 'sleep 1', considerHealthyAfterRunningForSeconds: 0 }));
}, 60_000);
afterAll(() => receiver.close());

/** The dotted paths of everything in a document that is no record itself. */
const membersOf = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => membersOf(inner, `${path}.${name}`))
    : [path];

const told = <T>(path: string): T[] => receiver.calls.filter(({ url }) => url === path).map(({ body }) => body as T);

test('of requests, deploys and tasks: what the history says of them', async () => {
  const { api } = operations;
  await serving(api, { id: 'web', owners: ['ann@example.com'] }, { message: 'the first' } as object);
  await api.call('PUT', 'requests/request/web/scale', { instances: 2, message: 'more' });
  await api.running('web', 2);
  await api.post('requests/request/web/pause', { message: 'lunch' });
  await waitFor(
    'the end of its tasks',
    async () => (await api.get<object[]>('history/request/web/tasks')).length === 2,
  );
  await api.post('requests/request/web/unpause');
  await api.running('web', 2);
  await api.call('DELETE', 'requests/request/web', { message: 'enough' });
  const types = () => told<RequestHistory>('/REQUEST/web').map(({ eventType }) => eventType);
  await waitFor('the end of it', () => types().includes('DELETED'));

  expect(types()).toEqual(['CREATED', 'SCALED', 'PAUSED', 'UNPAUSED', 'DELETING', 'DELETED']);
  const changes = await api.get<RequestHistory[]>('history/request/web/requests?count=100');
  expect(told('/REQUEST/web')).toEqual(changes.toReversed());
  expect(changes.map(({ message }) => message)).toEqual(
    expect.arrayContaining(['more -- Scaled from 1 to 2', 'lunch', 'enough']),
  );

  const { deployMarker, deploy, deployResult } = await api.get<DeployHistory>('history/request/web/deploy/d1');
  const ofDeploy = { deployMarker, deploy };
  expect(deployResult).toMatchObject({ deployState: 'SUCCEEDED' });
  expect(told('/DEPLOY/web/d1')).toEqual([
    { ...ofDeploy, eventType: 'STARTING' },
    { ...ofDeploy, eventType: 'FINISHED', deployResult },
  ]);

  const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
  const example: unknown = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)![1]!);
  const ended = await api.get<TaskIdHistory[]>('history/request/web/tasks?count=100');
  expect(ended.length).toBe(4);
  for (const { taskId } of ended) {
    const { task, taskUpdates } = await api.history(taskId.id);
    const path = `/TASK/web/d1/${encodeURIComponent(taskId.id)}`;
    await waitFor('all its updates', () => told(path).length >= taskUpdates.length);
    const states = taskUpdates.map(({ taskState }) => taskState);
    expect(states).toEqual(expect.arrayContaining(['TASK_LAUNCHED', 'TASK_RUNNING', 'TASK_CLEANING', 'TASK_KILLED']));
    const updates = told<{ task: object; taskUpdate: TaskHistoryUpdate }>(path);
    expect(updates.map(({ taskUpdate }) => taskUpdate.taskState).toSorted()).toEqual(states.toSorted());
    const last = updates.find(({ taskUpdate }) => taskUpdate.taskState === 'TASK_KILLED');
    expect(membersOf(last), 'the example of docs/webhooks.md').toEqual(expect.arrayContaining(membersOf(example)));
    for (const { task: shown, taskUpdate } of updates) {
      expect(shown).toEqual(task);
      const { previous: _, ...members } = taskUpdate;
      const stored = taskUpdates.find(({ taskState }) => taskState === taskUpdate.taskState)!;
      const { previous: __, ...expected } = stored;
      expect(members).toEqual(expected);
    }
  }
}, 120_000);

test('of a crash loop', async () => {
  const path = '/CRASHLOOP/restless/d1';
  await waitFor('the crash loop', () => told(path).length > 0, { timeoutMillis: 130_000 });
  expect(told(path)).toEqual(await operations.api.get('requests/request/restless/crashloops'));
  expect(told(path)).toEqual([
    { requestId: 'restless', deployId: 'd1', type: 'UNEXPECTED_EXITS', start: expect.any(Number) as number },
  ]);
}, 150_000);
