import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import type { DeployHistory } from '../../src/core/model/deploy.js';
import type { RequestHistory } from '../../src/core/model/request.js';
import type { TaskHistory, TaskId, TaskIdHistory } from '../../src/core/model/task.js';
import type { Page } from '../../src/modules/history/paging.js';
import type { Metric } from '../../src/modules/metrics/metrics.service.js';
import { waitFor } from '../support/wait-for.js';
import type { OperationName } from './ledger.js';
import { everyOperationWasCalled, operationsOf, type CallInput } from './operations.js';
import { jobs, ran, refusalsOf, serving, unknownTaskId } from './running-tasks.js';

const operations = operationsOf(['History'], { settings: { allowTestResourceCalls: true } });
const refused = refusalsOf(operations);

const tasksOf = 'GET /api/history/request/{requestId}/tasks';
const tasksPageOf = 'GET /api/history/request/{requestId}/tasks/withmetadata';
const params = { requestId: 'job' };
const runsOf = (found: readonly TaskIdHistory[]) => found.map(({ runId }) => runId);

/** Runs of the request 'job', in the order in which they ended: two that went well and one that did not. */
const runIds = ['r1', 'r2', 'r3'];
const tasks: TaskIdHistory[] = [];
/** Id of a task of a service that runs. */
let active: TaskId;
beforeAll(async () => {
  const { api } = operations;
  await jobs(api, { id: 'job' }, { command: 'sh', arguments: ['-c', 'exit $1', 'job'] });
  for (const [index, commandLineArgs] of [['0'], ['0'], ['3', 'broken']].entries())
    await ran(api, 'job', { runId: runIds[index]!, commandLineArgs });
  const moved = await waitFor('the history', async () => {
    const query = { skipZk: true };
    const found = await operations.call<TaskIdHistory[]>(tasksOf, 200, { params, query });
    return found.length === runIds.length && found;
  });
  tasks.push(...moved.toReversed());
  active = (await serving(api, { id: 'web' }))[0]!.taskId;
}, 90_000);

interface Form {
  what: string;
  operation: OperationName;
  /** Always asked for. */
  own: Record<string, string>;
}
describe('the search for ended tasks', () => {
  const filters = (): { query: CallInput['query']; found: readonly string[] }[] => [
    { query: {}, found: ['r3', 'r2', 'r1'] },
    { query: { orderDirection: 'ASC' }, found: ['r1', 'r2', 'r3'] },
    { query: { count: 2 }, found: ['r3', 'r2'] },
    { query: { count: 2, page: 2 }, found: ['r1'] },
    { query: { deployId: 'd1' }, found: ['r3', 'r2', 'r1'] },
    { query: { deployId: 'd2' }, found: [] },
    { query: { runId: 'r2' }, found: ['r2'] },
    { query: { host: 'localhost' }, found: ['r3', 'r2', 'r1'] },
    { query: { host: 'nowhere' }, found: [] },
    { query: { lastTaskStatus: 'TASK_FAILED' }, found: ['r3'] },
    { query: { startedBefore: tasks[1]!.taskId.startedAt }, found: ['r1'] },
    { query: { startedAfter: tasks[1]!.taskId.startedAt }, found: ['r3'] },
    { query: { startedAfter: new Date(tasks[1]!.taskId.startedAt).toISOString() }, found: ['r3'] },
    { query: { updatedBefore: tasks[1]!.updatedAt }, found: ['r1'] },
    { query: { updatedAfter: tasks[1]!.updatedAt }, found: ['r3'] },
    { query: { lastTaskStatus: 'task-finished', orderDirection: 'asc', count: 0, page: 0 }, found: ['r1', 'r2'] },
  ];
  const wrong: { query: CallInput['query']; field: string }[] = [
    { query: { count: -1 }, field: 'count' },
    { query: { page: 'first' }, field: 'page' },
    { query: { lastTaskStatus: 'TASK_HAPPY' }, field: 'lastTaskStatus' },
    { query: { orderDirection: 'UP' }, field: 'orderDirection' },
    { query: { startedBefore: 'noon' }, field: 'startedBefore' },
    { query: { skipZk: 'perhaps' }, field: 'skipZk' },
  ];

  test.each<Form>([
    { what: 'of one request', operation: tasksOf, own: {} },
    { what: 'of all requests', operation: 'GET /api/history/tasks', own: { requestId: 'job' } },
  ])('$what keeps to every filter', async ({ operation, own }) => {
    for (const { query, found } of filters()) {
      const answer = await operations.call<TaskIdHistory[]>(operation, 200, { params, query: { ...query, ...own } });
      expect(runsOf(answer), JSON.stringify(query)).toEqual(found);
    }
    const [first] = await operations.call<TaskIdHistory[]>(operation, 200, { params, query: { runId: 'r1', ...own } });
    expect(first).toEqual(tasks[0]);
    for (const { query, field } of wrong) expect(await refused(operation, 400, { params, query })).toContain(field);
  });

  test.each<Form>([
    { what: 'of one request', operation: tasksPageOf, own: {} },
    { what: 'of all requests', operation: 'GET /api/history/tasks/withmetadata', own: { requestId: 'job' } },
  ])('$what keeps to every filter and counts what there is', async ({ operation, own }) => {
    for (const { query, found } of filters()) {
      const page = await operations.call<Page<TaskIdHistory>>(operation, 200, { params, query: { ...query, ...own } });
      expect(runsOf(page.objects), JSON.stringify(query)).toEqual(found);
      const paged = query !== undefined && 'count' in query && query['count'] !== 0;
      expect(page).toMatchObject({
        dataCount: paged ? runIds.length : found.length,
        pageCount: paged ? 2 : Math.min(1, found.length),
        page: Number(query?.['page'] ?? 1) || 1,
      });
    }
    for (const { query, field } of wrong) expect(await refused(operation, 400, { params, query })).toContain(field);
  });

  test('of one deploy can be paged and counted', async () => {
    const ofDeploy = { ...params, deployId: 'd1' };
    const path = 'GET /api/history/request/{requestId}/deploy/{deployId}/tasks/inactive';
    const query = { count: 2, page: 2, skipZk: false };
    expect(runsOf(await operations.call<TaskIdHistory[]>(path, 200, { params: ofDeploy, query }))).toEqual(['r1']);
    const page = await operations.call<Page<TaskIdHistory>>(`${path}/withmetadata`, 200, { params: ofDeploy, query });
    const told = { ...tasks[0], trigger: 'RUN_NOW' };
    expect(page).toEqual({ dataCount: 3, pageCount: 2, page: 2, objects: [told] });
    expect(await operations.call(path, 200, { params: { ...params, deployId: 'd2' } })).toEqual([]);
    for (const each of [path, `${path}/withmetadata`] as const)
      expect(await refused(each, 400, { params: ofDeploy, query: { page: -1 } })).toContain('page');
  });

  test('finds a task that may still come back only without skipZk: it has not moved to the history yet', async () => {
    const away = (await serving(operations.api, { id: 'away' }))[0]!.taskId;
    await operations.api.post(`test/scheduler/statusUpdate/${away.id}/TASK_UNREACHABLE`);
    const ofAway = { params: { requestId: 'away' } };
    const listed = async (input: CallInput, operation: typeof tasksOf | typeof tasksPageOf) => {
      const answer = await operations.call<TaskIdHistory[] | Page<TaskIdHistory>>(operation, 200, input);
      return ('objects' in answer ? answer.objects : answer).map(({ taskId }) => taskId.id);
    };
    for (const operation of [tasksOf, tasksPageOf] as const) {
      expect(await listed({ ...ofAway, query: { skipZk: false } }, operation)).toEqual([away.id]);
      expect(await listed({ ...ofAway, query: { skipZk: true } }, operation)).toEqual([]);
    }
    expect(await listed(ofAway, tasksOf), 'unless told otherwise').toEqual([away.id]);
    expect(await listed(ofAway, tasksPageOf), 'unless told otherwise').toEqual([]);
  });
});

test('active tasks are listed by request and by deploy, and never among the ended ones', async () => {
  const web = { requestId: 'web', deployId: 'd1' };
  const ofDeploy = 'GET /api/history/request/{requestId}/deploy/{deployId}/tasks/active';
  const found = await operations.call('GET /api/history/request/{requestId}/tasks/active', 200, { params: web });
  expect(found).toMatchObject([{ taskId: active, lastTaskState: 'TASK_RUNNING' }]);
  expect(await operations.call(ofDeploy, 200, { params: web })).toEqual(found);
  expect(await operations.call(ofDeploy, 200, { params: { ...web, deployId: 'd2' } })).toEqual([]);
  expect(await operations.call(tasksOf, 200, { params: web })).toEqual([]);
  expect(await operations.call('GET /api/history/request/{requestId}/tasks/active', 200, { params })).toEqual([]);
});

test('one task is shown with all that is known of it, active or ended, also by its run', async () => {
  const show = 'GET /api/history/task/{taskId}';
  const ended = tasks[2]!;
  const history = await operations.call<TaskHistory>(show, 200, { params: { taskId: ended.taskId.id } });
  expect(history.taskUpdates.at(-1)).toMatchObject({ taskState: 'TASK_FAILED', timestamp: ended.updatedAt });
  expect(history).toMatchObject({
    task: { taskRequest: { pendingTask: { runId: 'r3', cmdLineArgsList: ['3', 'broken'] } } },
    healthcheckResults: [],
    loadBalancerUpdates: [],
    shellCommandHistory: [],
    taskMetadata: [],
  });
  const running = await operations.call<TaskHistory>(show, 200, { params: { taskId: active.id } });
  expect(running.taskUpdates.at(-1)).toMatchObject({ taskState: 'TASK_RUNNING' });
  expect(await refused(show, 404, { params: { taskId: unknownTaskId } })).toContain(unknownTaskId);
  expect(await refused(show, 400, { params: { taskId: 'nothing' } })).toContain('taskId');

  const ofRun = 'GET /api/history/request/{requestId}/run/{runId}';
  expect(await operations.call(ofRun, 200, { params: { ...params, runId: 'r3' } })).toEqual(ended);
  expect(await refused(ofRun, 404, { params: { ...params, runId: 'r9' } })).toContain("'r9'");
});

test('one deploy is shown with its result and figures; lists have its marker and result alone, newest first', async () => {
  const { api } = operations;
  await api.deploy({ requestId: 'web', id: 'd2', command: 'exit 1', resources: { cpus: 0.1, memoryMb: 16 } });
  await api.deployEnded('web', 'd2');
  const show = 'GET /api/history/request/{requestId}/deploy/{deployId}';
  expect(await operations.call(show, 200, { params: { ...params, deployId: 'd1' } })).toMatchObject({
    deployMarker: { requestId: 'job', deployId: 'd1' },
    deployResult: { deployState: 'SUCCEEDED', deployFailures: [] },
    deploy: { id: 'd1', command: 'sh' },
    deployStatistics: { numTasks: 3, lastTaskState: 'TASK_FAILED', lastFinishAt: tasks[2]!.updatedAt },
  });
  expect(await refused(show, 404, { params: { ...params, deployId: 'd9' } })).toContain("'d9'");

  const web = { requestId: 'web' };
  const list = 'GET /api/history/request/{requestId}/deploys';
  const all = await operations.call<DeployHistory[]>(list, 200, { params: web });
  expect(all.map(({ deployMarker, deployResult }) => [deployMarker.deployId, deployResult?.deployState])).toEqual([
    ['d2', 'FAILED'],
    ['d1', 'SUCCEEDED'],
  ]);
  expect(all[1]).not.toHaveProperty('deploy');
  const query = { count: 1, page: 2, skipZk: true };
  expect(await operations.call(list, 200, { params: web, query })).toEqual([all[1]]);
  const page = await operations.call<Page<DeployHistory>>(`${list}/withmetadata`, 200, { params: web, query });
  expect(page).toEqual({ dataCount: 2, pageCount: 2, page: 2, objects: [all[1]] });
  for (const each of [list, `${list}/withmetadata`] as const)
    expect(await refused(each, 400, { params: web, query: { count: -1 } })).toContain('count');
});

test('the changes of a request are listed newest first, in pages, and counted', async () => {
  const { api } = operations;
  await api.saveRequest({ id: 'web', requestType: 'SERVICE', owners: ['ann@example.com'] });
  await api.post('requests/request/web/pause', { message: 'lunch', killTasks: false });
  const web = { requestId: 'web' };
  const list = 'GET /api/history/request/{requestId}/requests';
  const all = await operations.call<RequestHistory[]>(list, 200, { params: web });
  expect(all.map(({ eventType }) => eventType)).toEqual(['PAUSED', 'UPDATED', 'CREATED']);
  expect(all[0]).toMatchObject({ message: 'lunch', request: { id: 'web', owners: ['ann@example.com'] } });
  expect(all[0]!.createdAt).toBeGreaterThan(all[1]!.createdAt);
  const query = { count: 2, page: 2, skipZk: false };
  expect(await operations.call(list, 200, { params: web, query })).toEqual([all[2]]);
  const page = await operations.call<Page<RequestHistory>>(`${list}/withmetadata`, 200, { params: web, query });
  expect(page).toEqual({ dataCount: 3, pageCount: 2, page: 2, objects: [all[2]] });
  for (const each of [list, `${list}/withmetadata`] as const)
    expect(await refused(each, 400, { params: web, query: { page: 'last' } })).toContain('page');
});

test('request ids are found by how they begin, with no character of a special meaning', async () => {
  for (const id of ['find-a', 'find-b', 'find_c']) await operations.api.saveRequest({ id, requestType: 'WORKER' });
  await operations.api.call('DELETE', 'requests/request/find-b');
  const search = 'GET /api/history/requests/search';
  const found = (query: CallInput['query']) => operations.call(search, 200, { query });
  expect(await found({ requestIdLike: 'find' })).toEqual(['find-a', 'find-b', 'find_c']);
  expect(await found({ requestIdLike: 'find_', useWebCache: true })).toEqual(['find_c']);
  expect(await found({ requestIdLike: 'Find' })).toEqual([]);
  expect(await found({ requestIdLike: 'find', count: 2, page: 2 })).toEqual(['find_c']);
  expect(await refused(search, 400)).toContain('requestIdLike');
  expect(await refused(search, 400, { query: { requestIdLike: 'find', count: 'all' } })).toContain('count');
});

test('the arguments of the newest runs are listed once each', async () => {
  const list = 'GET /api/history/request/{requestId}/command-line-args';
  const found = (query?: CallInput['query']) => operations.call(list, 200, { params, query });
  expect(await found()).toEqual([['3', 'broken'], ['0']]);
  expect(await found({ count: 1, skipZk: false })).toEqual([['3', 'broken']]);
  expect(await operations.call(list, 200, { params: { requestId: 'web' } })).toEqual([]);
  expect(await refused(list, 400, { params, query: { count: -5 } })).toContain('count');
});

test('the history of an older installation is converted, and reads the same before and after', async () => {
  const sql = new pg.Client({ connectionString: operations.databaseUrl });
  await sql.connect();
  try {
    const [{ taskId }] = tasks as [TaskIdHistory];
    const before = await operations.api.history(taskId.id);
    const old = `UPDATE task_history SET bytes = convert_to(data::text, 'UTF8'), data = NULL WHERE task_id = $1`;
    await sql.query(old, [taskId.id]);
    expect(await operations.api.history(taskId.id)).toEqual(before);
    await operations.call('POST /api/history/sql-backfill', 200, { query: { batchSize: 5 } });
    await waitFor('the conversion', async () => {
      const found = await sql.query('SELECT 1 FROM task_history WHERE bytes IS NOT NULL OR data IS NULL');
      return found.rowCount === 0;
    });
    expect(await operations.api.history(taskId.id)).toEqual(before);
    await waitFor('the figures', async () => {
      const { metrics } = await operations.api.get<{ metrics: Record<string, Metric> }>('metrics');
      return metrics['muster_history_backfill_rows{what=tasks}']?.value === 1;
    });
  } finally {
    await sql.end();
  }
  expect(await refused('POST /api/history/sql-backfill', 400, { query: { batchSize: 'many' } })).toContain('batchSize');
});

everyOperationWasCalled(operations);
