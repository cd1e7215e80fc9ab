import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import type { PodToPrepare } from '../../src/pod-agent/pod-agent-api.js';
import { startObjectStore, withoutObjectStore } from '../support/object-store.js';
import { PodNode, specOf, testUid } from '../support/pod-node.js';
import { waitFor } from '../support/wait-for.js';

/* Logs of tasks in pods: the agent of a node rotates and uploads them. The test plays kubelet and runtime. */

const isRoot = process.getuid?.() === 0;
const patience = { timeoutMillis: 60_000 };
const day = 24 * 3600 * 1000;
type Pod = PodToPrepare & { path: string };

let node: PodNode;
afterEach(() => node?.close());

const uploads = (files: object[] = []) => ({
  files: [{ filename: 'service.log' }, ...files],
  bucket: 'logs',
  keyPattern: 'web/%filename',
});
const logs = (more: Partial<NonNullable<PodToPrepare['logs']>> = {}): NonNullable<PodToPrepare['logs']> => ({
  programLogs: [],
  uploads: uploads(),
  ...more,
});
/** Sizes are looked at all the time. */
const bySize = { maxServiceLogSizeMb: 1, checkLogSizesEveryMillis: 100 };

/** With a folder that keeps logs. */
async function start(settings: object = {}): Promise<void> {
  node = await PodNode.start((folder) => ({
    checkUploadsEverySeconds: 1,
    logFolder: { directory: join(folder, 'kept'), group: testUid },
    ...settings,
  }));
}

/** Objects in the folder, by name. */
const kept = (): Record<string, Buffer> => {
  const root = join(node.folder.path, 'kept');
  const paths = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
  return Object.fromEntries(
    paths
      .filter((path) => !path.startsWith('.new') && statSync(join(root, path)).isFile())
      .map((path) => [path.slice(path.lastIndexOf('/') + 1), readFileSync(join(root, path))]),
  );
};
const unpacked = (bytes: Buffer): string => (bytes.readUInt16BE() === 0x1f8b ? gunzipSync(bytes) : bytes).toString();
/** All that was kept of a log: its results, the oldest first, and what came after them. */
const textOf = (log: string, objects: Record<string, Buffer>): string =>
  Object.keys(objects)
    .filter((name) => name.startsWith(`${log}-`))
    .toSorted()
    .concat(log in objects ? [log] : [])
    .map((name) => unpacked(objects[name]!))
    .join('');
const resultsOf = (pod: Pod, log = 'stdout', into = join(node.root, pod.podName, 'logs/logs')): string[] =>
  (existsSync(into) ? readdirSync(into) : []).filter((name) => name.startsWith(`${log}-`)).toSorted();
const records = (): string[] => {
  const path = join(node.root, '.agent/uploads');
  return existsSync(path) ? readdirSync(path).toSorted() : [];
};
const untilNothingWaits = (pod: Pod) =>
  waitFor('the end of all uploads', () => isFinished(pod) && records().length === 0, patience);
const isFinished = (pod: Pod): boolean => specOf(node, pod).areLogsFinished === true;
const names = async (pod: Pod, path = '') =>
  (await node.api.task({ taskId: pod.taskId }).sandbox().list({ path })).map(({ name }) => name);

function writeAsTask(path: string, text: string): void {
  writeFileSync(path, text);
  chownSync(path, testUid, testUid);
}

describe.skipIf(!isRoot)('output of a pod', { timeout: 120_000 }, () => {
  const uid = '00000000-0000-4000-8000-000000000001';
  const line = (number: number) => `${String(number).padStart(9, '0')} ${'x'.repeat(89)}`;
  const lines = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => line(from + at));

  test('is rotated, compressed, shown and uploaded, each line once, whenever the agent is killed', async () => {
    await start(bySize);
    const pod = await node.prepare({ logs: logs() });
    let count = 0;
    for (const round of [1, 2, 3, 4, 5]) {
      node.print(pod, uid, lines(count, (count += 15_000)));
      if (round % 2 === 0) {
        await node.stopAgent('SIGKILL');
        node.print(pod, uid, lines(count, (count += 5_000)));
        await node.startAgent();
      }
      await waitFor('the output', async () => (await node.read(pod, 'stdout')).length < 2 ** 20, patience);
    }
    await waitFor('the first uploads', () => Object.keys(kept()).length > 1, patience);
    const before = await names(pod);
    expect(before).toEqual(expect.arrayContaining(['logs', 'stderr', 'stdout']));
    for (const name of await names(pod, 'logs')) expect(name).toMatch(/^stdout-\d{8}\d+(_\d+)?(\.gz)?$/);
    node.print(pod, uid, ['last words']);
    await node.leader().ended({ taskIds: [pod.taskId] });
    rmSync(node.podLogs, { recursive: true });
    await untilNothingWaits(pod);
    const text = textOf('stdout', kept());
    const expected = [...lines(0, count), 'last words'].map((each) => `${each}\n`).join('');
    expect([text.length, text === expected]).toEqual([expected.length, true]);
    expect(Object.keys(kept()).filter((name) => !/^stdout(-\d+(_\d+)?\.gz)?$/.test(name))).toEqual([]);
    // What is uploaded is not kept twice, but for what readers look for.
    expect(resultsOf(pod)).toEqual([]);
    expect(await node.read(pod, 'stdout')).toBe(kept()['stdout']!.toString());
  });

  test('goes by the frequency of its deploy, and stays as it is where that says so', async () => {
    await start();
    const often = { logrotateFrequency: 'EVERY_MINUTE' } as const;
    const [rotated, left] = await Promise.all([
      node.prepare({ logs: logs({ executorData: often }) }),
      node.prepare({ logs: logs({ executorData: { ...often, skipLogrotateAndCompress: true } }) }),
    ]);
    for (const pod of [rotated, left]) node.print(pod, uid, ['once']);
    for (const pod of [rotated, left])
      await waitFor('the output', async () => (await node.read(pod, 'stdout')) === 'once\n', patience);
    await node.stopAgent();
    for (const { podName } of [rotated, left]) {
      const path = join(node.root, podName, 'cursor');
      const cursor = JSON.parse(readFileSync(path, 'utf8')) as { began: Record<string, number> };
      for (const stream of ['stdout', 'stderr']) cursor.began[stream]! -= day;
      writeFileSync(path, JSON.stringify(cursor));
    }
    await node.startAgent();
    await waitFor('the result', () => Object.keys(kept()).some((name) => name.startsWith('stdout-')), patience);
    expect(await node.read(rotated, 'stdout')).toBe('');
    expect([await node.read(left, 'stdout'), resultsOf(left)]).toEqual(['once\n', []]);
  });

  test('takes no more of the disk than it may, and the newest is kept', async () => {
    await start({ logMegabytes: 1, logFolder: undefined });
    const pod = await node.prepare({
      logs: logs({ uploads: undefined, executorData: { skipLogrotateAndCompress: true } }),
    });
    const all = lines(0, 40_000);
    for (let at = 0; at < all.length; at += 4_000) node.print(pod, uid, all.slice(at, at + 4_000));
    const last = all.at(-1)!;
    await waitFor('the last line', async () => (await node.read(pod, 'stdout')).endsWith(`${last}\n`), patience);
    const folder = join(node.root, pod.podName, 'logs');
    // Those of one second are in no order by their names.
    const paths = resultsOf(pod).map((name) => join(folder, 'logs', name));
    const oldestFirst = paths.toSorted((a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs);
    const text = Buffer.concat([...oldestFirst, join(folder, 'stdout')].map((path) => readFileSync(path))).toString();
    expect(text.length).toBeLessThanOrEqual(2 ** 20);
    expect(text.length).toBeGreaterThan(2 ** 19);
    expect(
      all
        .map((each) => `${each}\n`)
        .join('')
        .endsWith(text),
    ).toBe(true);
  });

  test('stands over what a task calls so, and hides no other file', async () => {
    await start(bySize);
    const pod = await node.prepare({ logs: logs({ uploads: undefined }) });
    mkdirSync(join(pod.path, 'logs'));
    chownSync(join(pod.path, 'logs'), testUid, testUid);
    for (const name of ['stdout-1', 'own']) writeAsTask(join(pod.path, 'logs', name), 'of the task');
    expect(await names(pod, 'logs')).toEqual(['own']);
    node.print(pod, uid, lines(0, 12_000));
    const results = await waitFor(
      'the result',
      async () => {
        const all = (await names(pod, 'logs')).filter((name) => name !== 'own');
        return all.some((name) => name.endsWith('.gz')) && all;
      },
      patience,
    );
    expect(await names(pod)).toEqual(['logs', 'stderr', 'stdout']);
    expect(await node.read(pod, 'logs/own')).toBe('of the task');
    const [first = ''] = results;
    const bytes = await node.readBytes(pod, `logs/${first}`);
    expect(gunzipSync(bytes).toString().slice(0, 100)).toBe(`${line(0)}\n`);
    expect(await node.read(pod, 'logs/stdout-1').catch(({ status }: { status: number }) => status)).toBe(404);
  });

  test('of a pod that was removed by others is uploaded before its files may go', async () => {
    await start({ sandboxRetentionMillis: 0, maxUploadMegabytesPerSecond: 0.01 });
    const pod = await node.prepare({ logs: logs() });
    node.print(pod, uid, lines(0, 300));
    await waitFor('the output', async () => (await node.read(pod, 'stdout')).length > 0, patience);
    node.print(pod, uid, ['very last']);
    await waitFor('all of it', async () => (await node.read(pod, 'stdout')).endsWith('very last\n'), patience);
    rmSync(join(node.podLogs, `${pod.namespace}_${pod.podName}_${uid}`), { recursive: true });
    await waitFor('its end', () => specOf(node, pod).endedAt !== undefined, patience);
    await node.stopAgent('SIGKILL');
    await node.startAgent();
    await waitFor('the upload', () => 'stdout' in kept(), patience);
    expect(textOf('stdout', kept())).toBe([...lines(0, 300), 'very last'].map((each) => `${each}\n`).join(''));
    // The clean-up of the next agent finds nothing that waits.
    await waitFor('the end of its records', () => records().length === 0, patience);
    await node.stopAgent();
    await node.startAgent();
    await waitFor('its removal', () => !existsSync(join(node.root, pod.podName)), patience);
  });

  test('is in the folder for its group alone, and other agents may write there', async () => {
    await start();
    const other = join(node.folder.path, 'kept/.new/node-2');
    mkdirSync(other, { recursive: true });
    writeFileSync(join(other, 'half'), 'x');
    const pod = await node.prepare({ logs: logs() });
    node.print(pod, uid, ['kept']);
    await node.leader().ended({ taskIds: [pod.taskId] });
    await untilNothingWaits(pod);
    const places = ['', 'logs', 'logs/web+', 'logs/web+/stdout'].map((path) =>
      statSync(join(node.folder.path, 'kept', path)),
    );
    expect(places.map(({ gid, mode }) => [gid, mode & 0o777])).toEqual([
      ...places.slice(1).map(() => [testUid, 0o750]),
      [testUid, 0o640],
    ]);
    expect(readdirSync(other)).toEqual(['half']);
    const { agent } = await node.api.usage();
    expect(agent!.uploads).toMatchObject({ files: 1, bytes: 5, failures: 0, waiting: 0 });
  });

  test.skipIf(withoutObjectStore !== undefined)(
    'goes to a bucket, and again when the bucket is there again',
    async () => {
      const store = await startObjectStore('logs');
      try {
        store.failures = 1_000;
        const objstore = { endpoint: store.url, ...store.keys };
        await start({ ...bySize, objstore, logFolder: undefined, retryWaitMs: 10 });
        const pod = await node.prepare({ logs: logs() });
        node.print(pod, uid, lines(0, 15_000));
        await waitFor('an attempt', () => store.failures < 1_000, patience);
        await node.stopAgent('SIGKILL');
        store.failures = 0;
        await node.startAgent();
        await node.leader().ended({ taskIds: [pod.taskId] });
        await untilNothingWaits(pod);
        const objects = Object.fromEntries(store.list('logs').map(({ key, body }) => [key.slice('web/'.length), body]));
        expect(textOf('stdout', objects)).toBe(
          lines(0, 15_000)
            .map((each) => `${each}\n`)
            .join(''),
        );
      } finally {
        await store.close();
      }
    },
  );
});

describe.skipIf(!isRoot)('files of a pod', { timeout: 120_000 }, () => {
  /** Writes a numbered line at a time, opening the file anew for each, until there is a file "stop"; then says how many. */
  const writer = (file: string) =>
    `i=0; while [ ! -e stop ]; do i=$((i+1)); echo "$i ${'x'.repeat(200)}" >>${file}; done; echo $i >written; exec sleep 600`;
  const written = (pod: Pod) =>
    waitFor(
      'the count',
      () => existsSync(join(pod.path, 'written')) && Number(readFileSync(join(pod.path, 'written'))),
      patience,
    );
  /** Of whole lines: several results of one second are in no order by their names. */
  const numbers = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((each) => Number.parseInt(each, 10))
      .toSorted((a, b) => a - b);
  const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

  test('that programs write are rotated by the user of the task, and no line is missing, whenever the agent is killed', async () => {
    await start(bySize);
    const pod = await node.prepare({ logs: logs({ programLogs: ['side.stdout', 'side.stderr'] }) });
    node.start(pod, ['/bin/sh', '-c', writer('side.stdout')]);
    await waitFor(
      'two results',
      () => Object.keys(kept()).filter((name) => name.startsWith('side.stdout-')).length > 1,
      patience,
    );
    // What stands still for a rotation that ends so goes on.
    for (const pause of [50, 400, 800, 1_200]) {
      await delay(pause);
      await node.stopAgent('SIGKILL');
      await node.startAgent();
    }
    writeAsTask(join(pod.path, 'stop'), '');
    const count = await written(pod);
    await node.leader().ended({ taskIds: [pod.taskId] });
    await untilNothingWaits(pod);
    expect(numbers(textOf('side.stdout', kept()))).toEqual(upTo(count));
    expect(statSync(join(pod.path, 'logs')).uid).toBe(testUid);
  });

  test('that the settings name are rotated for tasks with executorData, and what the deploy names is uploaded', async () => {
    await start({
      logrotateAdditionalFiles: [
        { filename: 'app*.log', logrotateSizeOverride: '200k' },
        { filename: 'gone.log', deleteInExecutorCleanup: true },
      ],
      checkLogSizesEveryMillis: 100,
    });
    const files = [{ filename: 'app*.gz' }, { filename: 'dump*' }];
    const pod = await node.prepare({ logs: logs({ executorData: {}, uploads: uploads(files) }) });
    const other = await node.prepare({ logs: logs({ uploads: uploads(files) }) });
    writeAsTask(join(other.path, 'app.log'), 'x'.repeat(300_000));
    node.start(pod, ['/bin/sh', '-c', `exec 3>>dump1; echo x >&3; echo y >dump2; ${writer('app.log')}`]);
    await waitFor(
      'two results',
      () => Object.keys(kept()).filter((name) => name.startsWith('app.log-')).length > 1,
      patience,
    );
    await waitFor('a further file', () => 'dump2' in kept(), patience);
    // A process of the task has it open, which sees it in another place.
    expect('dump1' in kept()).toBe(false);
    expect(readdirSync(other.path)).toEqual(['app.log']);
    writeAsTask(join(pod.path, 'stop'), '');
    const count = await written(pod);
    writeAsTask(join(pod.path, 'gone.log'), 'z');
    await node.leader().ended({ taskIds: [pod.taskId, other.taskId] });
    await untilNothingWaits(pod);
    expect(numbers(textOf('app.log', kept()))).toEqual(upTo(count));
    expect(kept()['dump1']?.toString()).toBe('x\n');
    const left = () => readdirSync(pod.path).filter((name) => name.startsWith('gone.log'));
    expect(left()).toEqual([expect.stringMatching(/^gone\.log-\d+\.gz$/)]);
    await node.stopAgent();
    const spec = join(node.root, pod.podName, 'spec.json');
    writeFileSync(spec, JSON.stringify({ ...specOf(node, pod), endedAt: Date.now() - day / 24 }));
    await node.startAgent();
    await waitFor('the removal of what is not to stay', () => left().length === 0, patience);
  });

  test('that a task puts links in the place of change nothing outside, and show nothing of it', async () => {
    await start({ ...bySize, logrotateAdditionalFiles: [{ filename: '*.log', logrotateSizeOverride: '1k' }] });
    const pod = await node.prepare({
      logs: logs({ executorData: {}, programLogs: ['side.stdout'], uploads: uploads([{ filename: '*.txt' }]) }),
    });
    const outside = join(node.folder.path, 'outside');
    mkdirSync(outside);
    for (const name of ['secret', 'big.log']) writeFileSync(join(outside, name), 's'.repeat(2_000_000));
    symlinkSync(join(outside, 'big.log'), join(pod.path, 'side.stdout'));
    symlinkSync(join(outside, 'big.log'), join(pod.path, 'a.log'));
    symlinkSync(outside, join(pod.path, 'logs'));
    symlinkSync(join(outside, 'secret'), join(pod.path, 'b.txt'));
    symlinkSync('/etc/passwd', join(pod.path, 'logrotate.status'));
    writeAsTask(join(pod.path, 'real.log'), 'r'.repeat(2_000));
    node.start(pod, ['/bin/sleep', '600']);
    await waitFor(
      'the rotation of the other',
      () => readdirSync(pod.path).some((name) => name.startsWith('real.log-')),
      patience,
    );
    await node.leader().ended({ taskIds: [pod.taskId] });
    await untilNothingWaits(pod);
    expect(readdirSync(outside).toSorted()).toEqual(['big.log', 'secret']);
    for (const name of ['secret', 'big.log']) expect(statSync(join(outside, name)).size).toBe(2_000_000);
    expect(Object.keys(kept())).toEqual([]);
  });

  test('whose user only the image knows stay as they are while it runs, and are uploaded in the end', async () => {
    await start(bySize);
    const pod = await node.prepare({ user: undefined, logs: logs({ programLogs: ['side.stdout'] }) });
    writeAsTask(join(pod.path, 'side.stdout'), 'y'.repeat(2_000_000));
    const running = node.start(pod, ['/bin/sleep', '600']);
    node.print(pod, running.uid, ['x'.repeat(2_000_000)]);
    // By then all logs were looked at.
    await waitFor(
      'the rotation of its output',
      () => Object.keys(kept()).some((name) => name.startsWith('stdout-')),
      patience,
    );
    expect(readdirSync(pod.path)).toEqual(['side.stdout']);
    await node.leader().ended({ taskIds: [pod.taskId] });
    await untilNothingWaits(pod);
    expect(kept()['side.stdout']?.length).toBe(2_000_000);
  });
});
