import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutorData, ObjstoreUploaderFile } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { waitFor } from '../support/wait-for.js';

/* Logs of tasks go to the folder that keeps them. */

let cluster: AgentCluster;
afterEach(() => cluster.close());

const start = async (settings: object = {}, limits: object = {}) => {
  const uploadTarget = { kind: 'FOLDER', keepDays: 30, maxMegabytes: 100, ...limits };
  cluster = await AgentCluster.start({ settings: { uploadTarget, checkUploadsEverySeconds: 1, ...settings } });
};
const uploads = (files: ObjstoreUploaderFile[] = []): NonNullable<LaunchSpec['uploads']> => ({
  files: [{ filename: 'service.log' }, ...files],
  bucket: 'logs',
  keyPattern: 'web/%Y/%index-%filename',
});
const executor = (cmd: string, files: ObjstoreUploaderFile[] = [], data: Partial<ExecutorData> = {}) => ({
  executorData: { cmd, ...data },
  command: { shell: true, value: cmd, arguments: [] },
  uploads: uploads(files),
});
const archive = () => join(cluster.root, 'archive');
/** Objects in the store, by the end of their keys. */
const kept = (): Record<string, Buffer> =>
  Object.fromEntries(
    readdirSync(archive(), { recursive: true, encoding: 'utf8' })
      .map((path) => join(archive(), path))
      .filter((path) => !path.includes('/.new') && statSync(path).isFile())
      .map((path) => [path.slice(path.lastIndexOf('/') + 1), readFileSync(path)]),
  );
const records = () => readdirSync(join(cluster.root, 'uploads')).toSorted();
const untilNothingWaits = () =>
  waitFor('the end of all uploads', () => records().length === 0, { timeoutMillis: 60_000 });

test('the log of a task that has ended is kept, and gone from its sandbox', async () => {
  await start();
  const spec = await cluster.run('', executor('echo kept'));
  await untilNothingWaits();
  const [[name, content]] = Object.entries(kept()) as [[string, Buffer]];
  expect(name).toMatch(/^0-service\.log-\d+\.log\.gz$/);
  expect(gunzipSync(content).toString()).toBe('kept\n');
  expect(readdirSync(cluster.sandbox(spec, spec.taskId, 'logs'))).toEqual([]);
  expect(cluster.output(spec, `${spec.taskId}/tail_of_finished_service.log`)).toBe('kept\n');
});

test('the outputs of a plain command are kept, and stay where they are', async () => {
  await start();
  const spec = await cluster.run('echo out; echo err >&2', { uploads: uploads() });
  await untilNothingWaits();
  expect(Object.entries(kept()).map(([name, content]) => [name, String(content)])).toEqual(
    expect.arrayContaining([
      ['0-stdout', 'out\n'],
      ['0-stderr', 'err\n'],
    ]),
  );
  expect(cluster.output(spec)).toBe('out\n');
});

test('rotated logs and further files of a task that runs are kept while it runs', async () => {
  await start({ logrotateFrequency: 'DAILY', maxServiceLogSizeMb: 1, checkLogSizesEveryMillis: 100 });
  const cmd = 'sh -c "yes line | head -c 2000000; echo x >../dump.txt; exec sleep 600"';
  const spec = await cluster.launch('', executor(cmd, [{ filename: 'dump*' }]));
  await waitFor('the rotated log', () => Object.keys(kept()).some((name) => name.includes('service.log-')), {
    timeoutMillis: 60_000,
  });
  await waitFor('the further file', () => Object.keys(kept()).some((name) => name.endsWith('dump.txt')));
  expect(existsSync(cluster.sandbox(spec, spec.taskId, 'dump.txt'))).toBe(false);
  expect(records().filter((name) => name.endsWith('.objstore.json'))).toHaveLength(2);
  await waitFor(
    'the end of the first upload',
    () => !readdirSync(cluster.sandbox(spec, spec.taskId, 'logs')).some((name) => name.endsWith('.gz')),
  );
});

test('a file that a process of the task has open is left for later', async () => {
  await start();
  const cmd =
    'sh -c "exec 3>../dump1; echo x >&3; echo y >../dump2; until [ -e ../go ]; do sleep 0.05; done; exec 3>&-; exec sleep 600"';
  const spec = await cluster.launch('', executor(cmd, [{ filename: 'dump*' }]));
  const names = () => Object.keys(kept()).map((name) => name.replace(/^\d+-/, ''));
  await waitFor('the other file', () => names().includes('dump2'), { timeoutMillis: 60_000 });
  expect(names()).toEqual(['dump2']);
  writeFileSync(cluster.sandbox(spec, spec.taskId, 'go'), '');
  await waitFor('the file', () => names().includes('dump1'), { timeoutMillis: 60_000 });
});

test('what a task leaves at its end is uploaded at once, whenever the next round is', async () => {
  await start({ checkUploadsEverySeconds: 86_400 });
  await cluster.run('', executor('sh -c "echo x >../dump1; echo said"', [{ filename: 'dump*' }]));
  await untilNothingWaits();
  expect(
    Object.keys(kept())
      .map((name) => name.replace(/-\d+\.log/, '.log'))
      .toSorted(),
  ).toEqual(['0-dump1', '0-service.log.log.gz']);
});

/* The same to a store that speaks the S3 protocol. */

async function startWithStore(store: TestObjectStore, settings: object = {}) {
  const uploadTarget = { kind: 'BUCKET', endpoint: store.url, region: 'us-east-1', bucketKeys: {}, ...store.keys };
  cluster = await AgentCluster.start({
    settings: { uploadTarget, checkUploadsEverySeconds: 1, retryWaitMs: 10, ...settings },
  });
}

describe.skipIf(withoutObjectStore !== undefined)('to a bucket', () => {
  let store: TestObjectStore;
  beforeAll(async () => {
    store = await startObjectStore('logs');
  });
  afterAll(() => store.close());
  afterEach(() => {
    store.before = () => undefined;
    store.calls.length = 0;
  });
  const puts = () => store.calls.filter((call) => call.startsWith('PUT '));

  test('the log of a task that has ended goes there, once, and a long one in parts', async () => {
    await startWithStore(store, { maxSingleUploadSizeBytes: 5_242_880, uploadPartSize: 5_242_880 });
    const long = await cluster.run('head -c 6000000 /dev/urandom', {
      uploads: { ...uploads(), keyPattern: 'long/%filename' },
    });
    const short = await cluster.run('', {
      ...executor('echo kept'),
      uploads: { ...uploads(), keyPattern: 'short/%filename' },
    });
    await untilNothingWaits();
    const found = store.list('logs');
    expect(found.map(({ key, size }) => [key.replace(/-\d+\.log/, '.log'), size])).toEqual([
      ['long/stdout', 6_000_000],
      ['short/service.log.log.gz', expect.any(Number)],
    ]);
    expect(puts().filter((call) => call.includes('partNumber='))).toHaveLength(2);
    expect(readdirSync(cluster.sandbox(short, short.taskId, 'logs'))).toEqual([]);
    expect(statSync(cluster.sandbox(long, 'stdout')).size).toBe(6_000_000);
  });

  test('a store that answers 503 gets everything when it is well again', async () => {
    await startWithStore(store);
    store.failures = Number.POSITIVE_INFINITY;
    const spec = await cluster.run('', {
      ...executor('echo later'),
      uploads: { ...uploads(), keyPattern: 'later/%filename' },
    });
    await waitFor('a word about it', () =>
      cluster.log.lines.some((line) => line.includes('Not uploaded for now, bucket logs')),
    );
    expect(readdirSync(cluster.sandbox(spec, spec.taskId, 'logs'))).toHaveLength(1);
    expect(store.calls.length).toBeLessThan(20);
    store.failures = 0;
    await untilNothingWaits();
    expect(store.list('logs').filter(({ key }) => key.startsWith('later/'))).toHaveLength(1);
  });

  test('a connection that breaks half-way: in the end the object is whole, and the only one', async () => {
    await startWithStore(store, { retryCount: 1 });
    store.breakAfterBytes = 100_000;
    await cluster.run('head -c 3000000 /dev/urandom', { uploads: { ...uploads(), keyPattern: 'broken/%filename' } });
    await waitFor('a word about it', () =>
      cluster.log.lines.some((line) => line.includes('Not uploaded for now, bucket logs')),
    );
    const broken = () => store.list('logs').filter(({ key }) => key.startsWith('broken/'));
    // Stores differ in whether they keep what came of it.
    expect(broken().every(({ size }) => size < 3_000_000)).toBe(true);
    store.breakAfterBytes = undefined;
    await untilNothingWaits();
    expect(broken()).toMatchObject([{ size: 3_000_000 }]);
  });

  test('a part that the store does not take gives up the others, and nothing of them stays', async () => {
    await startWithStore(store, { maxSingleUploadSizeBytes: 5_242_880, uploadPartSize: 5_242_880, retryCount: 1 });
    store.before = (call) => void (call.includes('partNumber=2') && (store.failures = 1));
    await cluster.run('head -c 12000000 /dev/urandom', { uploads: { ...uploads(), keyPattern: 'parts/%filename' } });
    await waitFor('the end of the parts', () => store.calls.some((call) => call.startsWith('DELETE ')));
    await waitFor('their removal', () => store.partsLeft('logs') === 0);
    store.before = () => undefined;
    await untilNothingWaits();
    const found = store.list('logs').filter(({ key }) => key.startsWith('parts/'));
    expect(found).toMatchObject([{ key: 'parts/stdout', size: 12_000_000 }]);
  });

  test('a part that the store does not take at first is sent again, and no other one', async () => {
    await startWithStore(store, { maxSingleUploadSizeBytes: 5_242_880, uploadPartSize: 5_242_880 });
    let refused = 0;
    store.before = (call) => void (call.includes('partNumber=2') && refused++ === 0 && (store.failures = 1));
    await cluster.run('head -c 12000000 /dev/urandom', { uploads: { ...uploads(), keyPattern: 'again/%filename' } });
    await untilNothingWaits();
    expect(puts().map((call) => /partNumber=(\d)/.exec(call)?.[1])).toEqual(['1', '2', '2', '3']);
    const found = store.list('logs').filter(({ key }) => key.startsWith('again/'));
    expect(found).toMatchObject([{ key: 'again/stdout', size: 12_000_000 }]);
  });

  test('each file has the storage class, the type and the encoding that are wanted for it', async () => {
    await startWithStore(store, {
      objstoreContentHeaders: [
        { filenameEndsWith: '.txt.gz', contentType: 'text/plain', contentEncoding: 'gzip' },
        { filenameEndsWith: '.gz', contentType: 'application/gzip' },
      ],
    });
    const seen: Record<string, unknown> = {};
    store.before = (call, { 'x-amz-storage-class': cls, 'content-type': type, 'content-encoding': encoding }) => {
      const name = /^PUT \/logs\/class\/([^?]+)/.exec(call)?.[1];
      if (name) seen[name] = [cls, type, encoding];
    };
    const files = [
      { filename: 'a*' },
      { filename: 'b*', objstoreStorageClass: 'GLACIER' },
      { filename: 'c*', objstoreStorageClass: 'GLACIER', applyObjstoreStorageClassAfterBytes: 4 },
      { filename: 'd*', objstoreStorageClass: 'GLACIER', applyObjstoreStorageClassAfterBytes: 5 },
    ];
    await cluster.run('for name in a.txt.gz b.gz c d; do echo 1234 >$name; done', {
      uploads: {
        files,
        bucket: 'logs',
        keyPattern: 'class/%filename',
        storageClass: 'STANDARD_IA',
        applyStorageClassAfterBytes: 4,
      },
    });
    await untilNothingWaits();
    const bytes = 'application/octet-stream';
    expect(seen).toEqual({
      'a.txt.gz': ['STANDARD_IA', 'text/plain', 'gzip'],
      // The size above which there is one is that of all files, where a file has none of its own.
      'b.gz': ['GLACIER', 'application/gzip', undefined],
      c: ['GLACIER', bytes, undefined],
      d: [undefined, bytes, undefined],
    });
  });

  test('a key that another object has is left to it', async () => {
    await startWithStore(store);
    store.put('logs', 'taken/stdout', { body: 'of another' });
    await cluster.run('echo mine', { uploads: { ...uploads(), keyPattern: 'taken/%filename' } });
    await untilNothingWaits();
    const found = store.list('logs').filter(({ key }) => key.startsWith('taken/'));
    expect(found.map(({ key, size }) => [key, size])).toEqual([
      ['taken/stdout', 10],
      ['taken/stdout_1', 5],
    ]);
  });
});
