import {
  connectMuster,
  type DeployView,
  endOfRun,
  endedTasks,
  followEvents,
  type Muster,
  pastDeploys,
  requestChanges,
  runAndWait,
  type SchedulerTaskState,
  tailLog,
  waitForDeploy,
  watchRun,
} from 'muster-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

const installation = new Installation({ database: createDatabase });
let muster: Muster;
let url: string;
beforeAll(async () => {
  const { api } = await installation.start();
  ({ url } = api);
  muster = connectMuster({ url });
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

async function job(id: string, command: string): Promise<string> {
  await muster.requests.save({ body: { id, requestType: 'ON_DEMAND' } });
  await muster.deploys.start({ body: { deploy: { requestId: id, id: '1', command, shell: true } } });
  expect(await waitForDeploy(muster, { requestId: id, deployId: '1' }, { timeoutMs: 20_000 })).toMatchObject({
    succeeded: true,
  });
  return id;
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

test('a deploy is followed until its tasks are healthy', async () => {
  const [requestId, deployId] = ['served', 'v1'];
  await muster.requests.save({ body: { id: requestId, requestType: 'SERVICE', instances: 2 } });
  await muster.deploys.start({ body: { deploy: { requestId, id: deployId, command: 'sleep 1000', shell: true } } });
  const views: DeployView[] = [];
  const options = { timeoutMs: 20_000, onProgress: (view: DeployView) => views.push(view) };
  const ended = await waitForDeploy(muster, { requestId, deployId }, options);
  expect(ended).toMatchObject({ succeeded: true, state: 'SUCCEEDED', result: { deployState: 'SUCCEEDED' } });
  expect(ended.healthy.map(({ instanceNo }) => instanceNo).toSorted()).toEqual([1, 2]);
  expect(views.at(0)?.state).toBe('WAITING');
  expect(views.at(-1)?.result).toEqual(ended.result);
});

test('a deploy that fails is told with its reasons, and one that takes long ends with the wait', async () => {
  await muster.requests.save({ body: { id: 'failing', requestType: 'SERVICE' } });
  const deploy = { requestId: 'failing', id: '1', command: 'exit 1', shell: true };
  await muster.deploys.start({ body: { deploy } });
  const which = { requestId: 'failing', deployId: '1' };
  const late = waitForDeploy(muster, which, { timeoutMs: 1 });
  await expect(late).rejects.toMatchObject({
    name: 'TimeoutError',
    message: 'Deploy 1 of failing took longer than 1 ms',
  });
  const ended = await waitForDeploy(muster, which, { timeoutMs: 20_000 });
  expect(ended.succeeded).toBe(false);
  expect(ended.result.deployFailures.map(({ reason }) => reason)).toContain('TASK_FAILED_ON_STARTUP');
});

test('a run is waited for, with the exit code of its program, and its log is read while it runs', async () => {
  const requestId = await job('talks', 'echo one; sleep 1; printf "two $*"; exit 3');
  let log: Promise<string[]> | undefined;
  const ended = await runAndWait(
    muster,
    { requestId, runId: 'first', commandLineArgs: ['äö'] },
    {
      timeoutMs: 20_000,
      onProgress: ({ taskId }) => {
        if (taskId) log ??= all(tailLog(muster, { taskId: taskId.id }, { timeoutMs: 20_000 }));
      },
    },
  );
  expect(ended).toMatchObject({ runId: 'first', state: 'TASK_FAILED', succeeded: false, exitCode: 3 });
  const pieces = await log!;
  expect(pieces.join('')).toBe('one\ntwo äö');
  expect(pieces.length).toBeGreaterThan(1);
  const taskId = ended.taskId.id;
  expect((await all(tailLog(muster, { taskId, offset: -6, follow: false }))).join('')).toBe('o äö');
});

test('a run id that is used is refused, followed where that is asked for, and each run is told apart from others of its id', async () => {
  const requestId = await job('numbered', 'exit $1');
  const ask = (code: string, options = {}) =>
    runAndWait(muster, { requestId, runId: 'r1', commandLineArgs: [code] }, { timeoutMs: 20_000, ...options });
  expect(await ask('0')).toMatchObject({ succeeded: true, exitCode: 0 });
  await expect(ask('7')).rejects.toMatchObject({ status: 409, code: 'RUN_ID_USED' });
  expect(await ask('7', { attach: true })).toMatchObject({ succeeded: true, exitCode: 0 });
  // Asked for without naming it new, there are two.
  const body = { runId: 'r1', commandLineArgs: ['7'] };
  const { pendingRequest } = await muster.requests.run({ requestId, minimal: true, body });
  const { askedAt } = pendingRequest;
  let last: SchedulerTaskState | undefined;
  for await (last of watchRun(muster, { requestId, runId: 'r1', askedAt }, { timeoutMs: 20_000 }));
  expect(endOfRun('r1', last!)).toMatchObject({ succeeded: false, exitCode: 7 });
});

test('the history is told page by page, each element once', async () => {
  const requestId = await job('many', 'true');
  for (const runId of ['a', 'b', 'c', 'd', 'e']) await runAndWait(muster, { requestId, runId }, { timeoutMs: 20_000 });
  const ended = () => all(endedTasks(muster, { requestId }, { pageSize: 2 }));
  // An ended task is in the history a moment later.
  const tasks = await waitFor('the last run', async () => ((await ended()).length === 5 ? ended() : undefined));
  expect(tasks.map(({ runId }) => runId).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect((await all(pastDeploys(muster, { requestId }))).map(({ deployMarker }) => deployMarker.deployId)).toEqual([
    '1',
  ]);
  expect(
    (await all(requestChanges(muster, { requestId }, { pageSize: 1 }))).map(({ eventType }) => eventType),
  ).toContain('CREATED');
});

test('events are followed as they happen', async () => {
  const ending = new AbortController();
  const first = async () => {
    for await (const each of followEvents(muster, { requestId: ['heard'] }, { signal: ending.signal }))
      if (each.kind === 'event') return each.event;
    return undefined;
  };
  // The stream may not be there yet: what happened before it is not told.
  const changing = async () => {
    for (let count = 0; !ending.signal.aborted; count++) {
      await muster.requests.save({ body: { id: 'heard', requestType: 'SERVICE', owners: [`${count}@example.com`] } });
    }
  };
  const [heard] = await Promise.all([first().finally(() => ending.abort()), changing()]);
  expect(heard).toMatchObject({ type: 'REQUEST', requestId: 'heard' });
});

test('files come as they are, in pieces', async () => {
  const requestId = await job('writes', 'head -c 300000 /dev/zero > zeros');
  const { taskId } = await runAndWait(muster, { requestId }, { timeoutMs: 20_000 });
  const { fullPathToRoot, slaveHostname, files } = await muster.sandbox.browse({ taskId: taskId.id, path: '' });
  expect(files.map(({ name }) => name)).toContain('zeros');
  const content = await muster.tasks.download({ slaveHostname, path: `${fullPathToRoot}/zeros` });
  expect((await all(content)).reduce((sum, piece) => sum + piece.length, 0)).toBe(300_000);
});

test('a misspelt member is refused with what was probably meant, unless the caller has it left out', async () => {
  const body = { id: 'misspelt', requestType: 'SERVICE', instanses: 3 } as const;
  await expect(muster.requests.save({ body })).rejects.toMatchObject({
    status: 400,
    message: 'instanses is not known: did you mean instances?',
  });
  const lenient = connectMuster({ url, strict: false });
  expect((await lenient.requests.save({ body })).request).toMatchObject({ id: 'misspelt' });
  await lenient.requests.remove({ requestId: 'misspelt' });
});
