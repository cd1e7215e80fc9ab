import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { ObjstoreLog, ObjstoreSearchResult } from '../../src/core/model/logs.js';
import { Installation, type Instance } from '../e2e/support/product.js';
import { startObjectStoreOn, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { Lab, labBinaries } from './lab/lab.js';

/* Logs of pods, from the container to the search of the product, which finds them when pod and node are gone. */

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const slow = { timeoutMillis: 120_000, everyMillis: 200 };
const node = 'node-1';
const resources = { cpus: 0.1, memoryMb: 64 };

interface Store {
  /** Keys of the settings file of the scheduler, and of that of agents. */
  scheduler(lab: Lab): object;
  agents(folder: string): object;
  close(): Promise<void>;
}

async function folder(): Promise<Store> {
  const place = (files: string) => ({ directory: join(files, 'kept') });
  return {
    scheduler: (lab) => ({ logFolder: place(lab.agents!.folder) }),
    agents: (files) => ({ logFolder: { ...place(files), group: 0 } }),
    close: async () => undefined,
  };
}

async function bucket(): Promise<Store> {
  const store: TestObjectStore = await startObjectStoreOn(Lab.address(), 'logs');
  const access = { endpoint: store.url, ...store.keys };
  return {
    scheduler: () => ({ objstore: { objstoreBucket: 'logs', ...access } }),
    agents: () => ({ objstore: access }),
    close: () => store.close(),
  };
}

/** Says how far it has got, and goes on with `then`. */
const printLines = (count: number, pauseEvery: number, then: string): string =>
  `i=0; while [ $i -lt ${count} ]; do i=$((i+1)); echo "$i ${'x'.repeat(90)}"; [ $((i % ${pauseEvery})) = 0 ] && sleep 0.2; done; ${then}`;
const numbersOf = (text: string): number[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => Number.parseInt(line, 10));
/** Of whole lines: results of one second are in no order by their names. */
const inOrder = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

const stores = [
  { name: 'a folder that agents and schedulers share', open: folder },
  ...(withoutObjectStore === undefined ? [{ name: 'an object store', open: bucket }] : []),
];

describe.skipIf(labBinaries === undefined).each(stores)('logs of pods, kept in $name', ({ open }) => {
  let store: Store;
  let lab: Lab;
  let installation: Installation;
  let instance: Instance;

  beforeAll(async () => {
    store = await open();
    const often = { maxServiceLogSizeMb: 1, checkLogSizesEveryMillis: 200, checkUploadsEverySeconds: 1 };
    const further = { logrotateAdditionalFiles: [{ filename: 'app/app.log', logrotateSizeOverride: '300k' }] };
    lab = await Lab.start({
      hasAgents: true,
      agentSettings: (files) => ({ ...often, ...further, ...store.agents(files) }),
    });
    installation = new Installation({
      database: createDatabase,
      settings: { cluster: { kubernetes: lab.settings() }, ...store.scheduler(lab) },
      env: { MUSTER_CLUSTER: 'kubernetes' },
    });
    instance = await installation.start();
    await waitFor('the node', async () => (await instance.api.get<object[]>('slaves')).length > 0, slow);
  });
  afterAll(async () => {
    await installation?.dispose();
    await lab?.stop();
    await store?.close();
  });

  async function run(id: string, deploy: Omit<Deploy, 'requestId' | 'id'>): Promise<string> {
    const { api } = instance;
    await api.saveRequest({ id, requestType: 'ON_DEMAND' });
    await api.deploy({ requestId: id, id: 'd1', resources, ...deploy });
    await api.deployEnded(id, 'd1');
    await api.post(`requests/request/${id}/run`, {});
    const [task] = await waitFor(
      `the task of ${id}`,
      async () => {
        const tasks = await api.activeTasks(id);
        return tasks.length > 0 && tasks;
      },
      slow,
    );
    return task!.taskId.id;
  }
  const isOver = async (taskId: string) =>
    (await instance.api.history(taskId).catch(() => undefined))?.taskUpdates.some(({ taskState }) =>
      ['TASK_FINISHED', 'TASK_KILLED', 'TASK_FAILED', 'TASK_LOST'].includes(taskState),
    );
  const logsOf = (taskId: string) => instance.api.get<ObjstoreLog[]>(`logs/task/${taskId}?excludeMetadata=true`);
  const nameOf = ({ key }: ObjstoreLog): string =>
    /-([a-z.]+(?:-\d+)?(?:_\d+)?(?:\.gz)?(?:_\d+)?)$/.exec(key)?.[1] ?? key;
  async function textOf(taskId: string, log: string): Promise<string> {
    const found = (await logsOf(taskId)).filter((each) => nameOf(each) === log || nameOf(each).startsWith(`${log}-`));
    // The file itself comes after its results.
    const sorted = found.toSorted((a, b) => (nameOf(a) === log ? 1 : nameOf(b) === log ? -1 : a.key < b.key ? -1 : 1));
    const parts = await Promise.all(
      sorted.map(async ({ getUrl }) =>
        Buffer.from(await (await fetch(new URL(getUrl!, instance.api.url))).arrayBuffer()),
      ),
    );
    return parts
      .map((part) => (part.subarray(0, 2).equals(Buffer.from([0x1f, 0x8b])) ? gunzipSync(part) : part))
      .join('');
  }
  const hasWritten = async (taskId: string, file: string) =>
    (await instance.api.get<{ data: string }>(`sandbox/${taskId}/read?path=${file}&offset=0&length=5`)).data ===
    'yes\n';
  /** At once, as the kernel does when memory is short; its kubelet starts it again. */
  function killAgent(): number {
    const { pid } = JSON.parse(readFileSync(join(lab.agents!.folder, node, '.agent/process'), 'utf8')) as {
      pid: number;
    };
    process.kill(pid, 'SIGKILL');
    return pid;
  }
  const agentAfter = (killed: number) =>
    waitFor(
      'the next agent',
      () => {
        const text = readFileSync(join(lab.agents!.folder, node, '.agent/process'), 'utf8');
        return (JSON.parse(text) as { pid: number }).pid !== killed;
      },
      slow,
    );

  test('files that programs of a pod write are rotated by the user of the task, and each line is found once', async () => {
    const count = 40_000;
    const side = printLines(count, 1_000, 'echo yes >side.done; sleep 600');
    const beside = await run('beside', {
      command: 'until [ -e side.done ]; do sleep 0.2; done; sleep 3',
      tasks: { sidecars: [{ name: 'side', command: side, resources: { cpus: 0.1, memoryMb: 32 } }] },
    });
    // Opens its file for each line.
    const lines = `i=0; while [ $i -lt 8000 ]; do i=$((i+1)); echo "$i ${'y'.repeat(90)}" >>app.log; [ $((i % 500)) = 0 ] && sleep 0.3; done`;
    const managed = await run('managed', {
      customExecutorCmd: '/usr/local/bin/executor',
      executorData: { cmd: `${lines}; sleep 2`, logrotateFrequency: 'HOURLY' },
      objstoreUploaderAdditionalFiles: [{ filename: 'app.log', directory: 'app' }],
    });
    for (const taskId of [beside, managed]) await waitFor('its end', () => isOver(taskId), slow);
    const isAll = async (taskId: string, log: string, most: number) =>
      numbersOf(await textOf(taskId, log)).length >= most;
    await waitFor('the output of the sidecar', () => isAll(beside, 'side.stdout', count), slow);
    await waitFor('the further file', () => isAll(managed, 'app.log', 8_000), slow);
    expect(inOrder(numbersOf(await textOf(beside, 'side.stdout')))).toEqual(upTo(count));
    expect(inOrder(numbersOf(await textOf(managed, 'app.log')))).toEqual(upTo(8_000));
    for (const [taskId, log] of [
      [beside, 'side.stdout'],
      [managed, 'app.log'],
    ] as const)
      expect((await logsOf(taskId)).filter((each) => nameOf(each).startsWith(`${log}-`)).length).toBeGreaterThan(1);
  });

  test('each line is found once, whatever happens to agent, pod and node', async () => {
    const count = 60_000;
    const atEnd = `trap 'i=$((i+1)); echo "$i at its end"; exit 0' TERM; echo yes >done; sleep 600 & wait`;
    const taskId = await run('printer', { command: printLines(count, 1_000, atEnd) });
    const isRotated = async () => (await logsOf(taskId)).some((log) => nameOf(log).endsWith('.gz'));
    await waitFor('the first results', isRotated, slow);
    await agentAfter(killAgent());
    await waitFor('the last line but one', () => hasWritten(taskId, 'done'), slow);
    await agentAfter(killAgent());
    // A kubelet removes the output of a pod that is deleted at once: the agent has to be there then.
    await waitFor('it to answer', () => hasWritten(taskId, 'done'), slow);
    await instance.api.get(`sandbox/${taskId}/read?path=stdout&offset=0&length=5`);
    const [pod] = (await lab.pods()).filter(({ metadata }) => metadata?.annotations?.['muster/task-id'] === taskId);
    const path = `/api/v1/namespaces/muster/pods/${pod!.metadata!.name}`;
    await lab.api.call(path, { method: 'DELETE', body: { gracePeriodSeconds: 10 } });
    await waitFor('its end', () => isOver(taskId), slow);
    const isAll = async () => numbersOf(await textOf(taskId, 'stdout')).length > count;
    await waitFor('all of its output', isAll, slow);
    await lab.agents!.takeAway();
    await lab.removePods();
    await lab.api.call(`/api/v1/nodes/${node}`, { method: 'DELETE' });
    const names = (await logsOf(taskId)).map(nameOf);
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) expect(name).toMatch(/^stdout(-\d+(_\d+)?\.gz)?$/);
    expect(numbersOf(await textOf(taskId, 'stdout'))).toEqual(upTo(count + 1));
    const found = await instance.api.post<ObjstoreSearchResult>('logs/search', { taskIds: [taskId] });
    expect(found.results.length).toBe(names.length);
  });
});
