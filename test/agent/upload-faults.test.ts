import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram, uploadsFolder } from '../support/agent-programs.js';
import { processesUnder } from '../../src/agent/processes/processes.js';
import { namesOfBucket, namesOfKey, numberedKey } from '../../src/core/logs/index.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/* Uploads of logs while the store, the disk or the agent itself fails. */

let cluster: AgentCluster;
afterEach(() => cluster.close());

const patience = { timeoutMillis: 60_000 };
const uploadsTo = (keyPattern: string, filename = 'dump*'): Partial<LaunchSpec> => ({
  uploads: { files: [{ filename }], bucket: 'logs', keyPattern },
});
const records = () => readdirSync(join(cluster.root, 'uploads'));
const untilNothingWaits = () => waitFor('the end of all uploads', () => records().length === 0, patience);
const waits = () => cluster.log.lines.some((line) => line.includes('Not uploaded for now'));
/** Files that are there whole, by the end of their key. */
const archived = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(cluster.root, 'archive'), { recursive: true, encoding: 'utf8' })
      .map((path) => join(cluster.root, 'archive', path))
      .filter((path) => !path.includes('/.new') && statSync(path).isFile())
      .map((path) => [path.slice(path.lastIndexOf('/') + 1), readFileSync(path, 'utf8')]),
  );
/** `count` files of some kilobytes, each with its name in it. */
const manyFiles = (count: number) =>
  `for i in $(seq ${count}); do (echo dump$i; seq 5000) >new; mv new dump$i; done; rm -f new`;
const expectAll = (count: number, texts: string[]) =>
  expect(texts.map((text) => text.split('\n')[0]).toSorted()).toEqual(
    Array.from({ length: count }, (_, index) => `dump${index + 1}`).toSorted(),
  );

describe.skipIf(withoutObjectStore !== undefined)('a bucket', { timeout: 90_000 }, () => {
  let store: TestObjectStore;
  beforeAll(async () => void (store = await startObjectStore('logs', 'other')));
  afterAll(() => store.close());
  afterEach(() => {
    [store.before, store.after] = [() => undefined, () => undefined];
    store.failures = 0;
    store.refuse = () => undefined;
    store.calls.length = 0;
  });
  const settingsOf = (changes: object = {}, target: object = {}) => ({
    uploadTarget: {
      kind: 'BUCKET',
      endpoint: store.url,
      region: 'us-east-1',
      bucketKeys: {},
      ...store.keys,
      ...target,
    },
    checkUploadsEverySeconds: 1,
    retryWaitMs: 10,
    ...changes,
  });
  const start = async (settings: object, more: object = {}) =>
    void (cluster = await AgentCluster.start({ settings, ...more }));
  const isUp = (call: string) => call.startsWith('PUT ');
  const textsBelow = (folder: string) =>
    store.list('logs').flatMap(({ key, body }) => (key.startsWith(folder) ? [String(body)] : []));

  test('that hangs is given up after a while, is asked by few at a time, and gets everything later', async () => {
    await start(settingsOf({ uploadIdleSeconds: 1, executorMaxUploadThreads: 3 }));
    store.before = () => new Promise(() => undefined);
    await cluster.run(manyFiles(20), uploadsTo('hangs/%filename'));
    await waitFor('a word about it', waits, patience);
    expect(cluster.log.lines.join('\n')).toContain('the store did nothing for 1000 ms');
    // Each of the three was tried twice, and nothing of the others was.
    expect(store.calls).toHaveLength(6);
    expect(textsBelow('hangs/')).toEqual([]);
    store.before = () => undefined;
    await untilNothingWaits();
    expectAll(20, textsBelow('hangs/'));
  });

  test('that hangs at a part is given up after a while, and gets the file later', async () => {
    const parts = { maxSingleUploadSizeBytes: 5_242_880, uploadPartSize: 5_242_880 };
    await start(settingsOf({ ...parts, uploadIdleSeconds: 1, retryCount: 1 }));
    store.before = (call) => (call.includes('partNumber=2') ? new Promise(() => undefined) : undefined);
    await cluster.run('head -c 12000000 /dev/urandom >dump1', uploadsTo('part/%filename'));
    await waitFor('a word about it', waits, patience);
    expect(cluster.log.lines.join('\n')).toContain('the store did nothing for 1000 ms');
    expect(textsBelow('part/')).toEqual([]);
    store.before = () => undefined;
    await untilNothingWaits();
    expect(store.list('logs', false).find(({ key }) => key === 'part/dump1')?.size).toBe(12_000_000);
  });

  test('that hangs holds up no other bucket for longer than that', async () => {
    await start(settingsOf({ uploadIdleSeconds: 1 }));
    store.before = (call) => (call.includes('/logs/') ? new Promise(() => undefined) : undefined);
    await cluster.run('echo a >dump1', uploadsTo('held/%filename'));
    await cluster.run('echo b >dump1', {
      uploads: { files: [{ filename: 'dump*' }], bucket: 'other', keyPattern: 'free/%filename' },
    });
    await waitFor('the other one', () => store.list('other').some(({ key }) => key === 'free/dump1'), patience);
    expect(textsBelow('held/')).toEqual([]);
    store.before = () => undefined;
    await untilNothingWaits();
  });

  test('that is away for a while gets everything once', async () => {
    const { port } = new URL(store.url);
    const line = await startTcpProxy({ host: '127.0.0.1', port: Number(port) });
    await start(settingsOf({}, { endpoint: `http://127.0.0.1:${line.port}` }));
    line.cut();
    const spec = await cluster.run(manyFiles(5), uploadsTo('away/%filename'));
    await waitFor('a word about it', waits, patience);
    expect(readdirSync(cluster.sandbox(spec)).filter((name) => name.startsWith('dump'))).toHaveLength(5);
    line.restore();
    await untilNothingWaits();
    expectAll(5, textsBelow('away/'));
    expect(readdirSync(cluster.sandbox(spec)).filter((name) => name.startsWith('dump'))).toEqual([]);
    await line.close();
  });

  test('that does not know the keys has the logs wait, says so without the keys, and gets them with better ones', async () => {
    const settings = settingsOf({}, { objstoreSecretKey: 'a-wrong-secret' });
    await start(settings);
    const spec = await cluster.run('echo mine >dump1', uploadsTo('keys/%filename'));
    await waitFor('a word about it', waits, patience);
    const said = cluster.log.lines.join('\n');
    expect(said).toMatch(/Not uploaded for now, bucket logs: dump1: the store does not take it: .*HTTP 403/);
    expect(said).not.toContain('a-wrong-secret');
    expect(readFileSync(cluster.sandbox(spec, 'dump1'), 'utf8')).toBe('mine\n');
    Object.assign(settings.uploadTarget, store.keys);
    await cluster.restartAgent();
    await untilNothingWaits();
    expect(textsBelow('keys/')).toEqual(['mine\n']);
  });

  test('that is not there has the logs wait', async () => {
    await start(settingsOf());
    await cluster.run('echo x >dump1', { uploads: { ...uploadsTo('%filename').uploads!, bucket: 'nowhere' } });
    await waitFor('a word about it', waits, patience);
    expect(cluster.log.lines.join('\n')).toContain('bucket nowhere: dump1: the store does not take it: NoSuchBucket');
    expect(records()).not.toEqual([]);
  });

  const hour = 3_600_000;
  const day = 24 * hour;
  /** As a store refuses a storage class that it does not know. */
  const refuseClass = (call: string, headers: Record<string, unknown>) =>
    call.startsWith('PUT ') && headers['x-amz-storage-class'] === 'ODD' ? 'InvalidStorageClass' : undefined;
  const odd = (keyPattern: string, filename: string): Partial<LaunchSpec> => ({
    uploads: { files: [{ filename, objstoreStorageClass: 'ODD' }], bucket: 'logs', keyPattern },
  });
  const isArchived = ({ taskId }: LaunchSpec) => existsSync(join(cluster.root, 'ended', taskId));

  test('that refuses files is asked for a day to take them, and then nothing waits for them any more', async () => {
    let ahead = 0;
    await start(settingsOf(), { now: () => Date.now() + ahead });
    store.refuse = (call, headers) => (call.includes('/good') ? undefined : refuseClass(call, headers));
    // More than are opened at a time, and before the one that is taken.
    const spec = await cluster.run(
      'for i in $(seq 40); do echo $i >bad$i; done; echo x >good',
      odd('odd/%filename', '*d*'),
    );
    await waitFor('the other one', () => textsBelow('odd/').length > 0, patience);
    expect(textsBelow('odd/')).toEqual(['x\n']);
    await waitFor('a word about the others', waits, patience);
    ahead = day - hour;
    await cluster.restartAgent();
    const before = store.calls.length;
    await waitFor('another attempt', () => store.calls.length > before, patience);
    await waitFor('an attempt with a file', () => store.calls.slice(before).some(isUp), patience);
    expect(records()).not.toEqual([]);
    expect(cluster.log.lines.join('\n')).not.toContain('given up');
    ahead = day;
    await untilNothingWaits();
    const said = cluster.log.lines.filter((line) => line.includes('given up'));
    expect(said[0]).toMatch(/file1.objstore.json: \d+ files are given up.* InvalidStorageClass, HTTP 400$/);
    expect(readdirSync(cluster.sandbox(spec)).filter((name) => name.startsWith('bad'))).toHaveLength(40);
  });

  test('that refused a file, and takes it later, gets it', async () => {
    await start(settingsOf());
    store.refuse = refuseClass;
    await cluster.run('echo mine >dump1', odd('mended/%filename', 'dump*'));
    await waitFor('a word about it', waits, patience);
    store.refuse = () => undefined;
    await untilNothingWaits();
    expect(textsBelow('mended/')).toEqual(['mine\n']);
  });

  test('whose answer to a HEAD does not say why is asked for it: keys that are too old are mended, and cost no log', async () => {
    let ahead = 0;
    await start(settingsOf(), { now: () => Date.now() + ahead });
    store.refuse = () => 'ExpiredToken';
    await cluster.run('echo mine >dump1', uploadsTo('expired/%filename'));
    await waitFor('a word about it', waits, patience);
    expect(cluster.log.lines.join('\n')).toContain('bucket logs: dump1: the store does not take it: ExpiredToken');
    ahead = 2 * day;
    const before = store.calls.length;
    await waitFor('another attempt', () => store.calls.length > before + 1, patience);
    store.refuse = () => undefined;
    await untilNothingWaits();
    expect(textsBelow('expired/')).toEqual(['mine\n']);
  });

  test('that takes no key as long as that of a file has nothing wait for it longer than a day', async () => {
    let ahead = 0;
    await start(settingsOf(), { now: () => Date.now() + ahead });
    await cluster.run('echo x >dump1', uploadsTo(`${'x'.repeat(1_100)}/%filename`));
    await waitFor('a word about it', waits, patience);
    expect(cluster.log.lines.join('\n')).toMatch(/file1.objstore.json: dump1: the store does not take it: KeyTooLong/);
    ahead = day;
    await untilNothingWaits();
  });

  test('that refuses files keeps no sandbox on a full disk; one that is away does', async () => {
    let ahead = 0;
    await start(settingsOf({ sandboxDiskHighWaterPct: 1 }), { now: () => Date.now() + ahead });
    store.refuse = refuseClass;
    const refused = await cluster.run('echo x >dump1', odd('refused/%filename', 'dump*'));
    const waiting = await cluster.run('echo x >dump1', {
      uploads: { ...uploadsTo('%filename').uploads!, bucket: 'nowhere' },
    });
    const isSaid = (text: string) => cluster.log.lines.some((line) => line.includes(text));
    await waitFor('both words', () => isSaid('InvalidStorageClass') && isSaid('bucket nowhere'), patience);
    await waitFor('both ends', () => isArchived(refused) && isArchived(waiting), patience);
    ahead = hour;
    await waitFor('room', () => !existsSync(cluster.sandbox(refused)), patience);
    expect(existsSync(cluster.sandbox(waiting))).toBe(true);
  });

  test('that takes nothing of one file for want of bandwidth is not taken for one that hangs', async () => {
    const megabytes = 0.25;
    await start(settingsOf({ maxUploadMegabytesPerSecond: megabytes, uploadIdleSeconds: 1, retryCount: 1 }));
    const began = performance.now();
    await cluster.run('for i in 1 2 3; do head -c 400000 /dev/zero >dump$i; done', uploadsTo('slow/%filename'));
    await untilNothingWaits();
    expect(waits()).toBe(false);
    expect(textsBelow('slow/').map(({ length }) => length)).toEqual([400_000, 400_000, 400_000]);
    // The first chunk of each is there at once.
    expect(performance.now() - began).toBeGreaterThan(((1_200_000 - 3 * 262_144) / (megabytes * 1_048_576)) * 1_000);
  });

  describe('and an agent that is killed', () => {
    const startProcess = () => start(settingsOf(), { program: agentProgram });

    test.each([
      ['before the store is asked', 'before', (call: string) => call.startsWith('HEAD ')],
      ['before anything is sent', 'before', isUp],
      ['when the store has it and has not said so', 'after', isUp],
      ['when the store is told of the last part', 'before', (call: string) => call.startsWith('POST ')],
      ['when the store has put the parts together', 'after', (call: string) => /^POST .*uploadId=/.test(call)],
    ] as const)('%s: the next one brings the file to the same key', async (when, hook, isStep) => {
      const folder = when.replaceAll(' ', '-');
      await start(settingsOf({ maxSingleUploadSizeBytes: 5_242_880, uploadPartSize: 5_242_880 }), {
        program: agentProgram,
      });
      let reached = false;
      store[hook] = (call) => {
        if (!call.includes(folder) || !isStep(call)) return undefined;
        reached = true;
        return new Promise(() => undefined);
      };
      const size = hook === 'before' && !isStep('POST ') ? 100_000 : 6_000_000;
      await cluster.run(
        `head -c ${size} /dev/urandom >dump1; cp dump1 copy`,
        uploadsTo(`${folder}/%s-%index-%filename`),
      );
      await waitFor('the step', () => reached, patience);
      await cluster.killAgent();
      [store.before, store.after] = [() => undefined, () => undefined];
      await cluster.startAgent();
      await untilNothingWaits();
      const found = store.list('logs').filter(({ key }) => key.startsWith(folder));
      expect(found.map((each) => each.size)).toEqual([size]);
    });

    test('again and again: each file is there once, and none is lost', async () => {
      await startProcess();
      const spec = await cluster.run(manyFiles(60), uploadsTo('killed/%s-%index-%filename'));
      for (const pause of [50, 150, 250, 350, 450, 100, 200, 300]) {
        await delay(pause);
        await cluster.killAgent();
        await cluster.startAgent();
      }
      await untilNothingWaits();
      expectAll(60, textsBelow('killed/'));
      expect(readdirSync(cluster.sandbox(spec)).filter((name) => name.startsWith('dump'))).toEqual([]);
    }, 120_000);
  });

  test('a log of 1 GB goes up without more in memory than what is on its way', async () => {
    await start(settingsOf({ maxUploadMegabytesPerSecond: 1_000 }), { program: agentProgram });
    const bytes = 1_073_741_824;
    const spec = await cluster.launch(`truncate -s ${bytes} dump1`, uploadsTo('large/%filename'));
    let most = 0;
    await waitFor(
      'the upload',
      () => {
        for (const pid of uploadersOf(cluster.root)) most = Math.max(most, highWater(pid));
        return store.list('logs', false).some(({ key }) => key === 'large/dump1') && records().length === 0;
      },
      { timeoutMillis: 240_000, everyMillis: 100 },
    );
    console.log(`A log of 1 GB: the program that uploads took ${most} MB at most`);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(250);
    expect(store.list('logs', false).find(({ key }) => key === 'large/dump1')?.size).toBe(bytes);
    expect(existsSync(cluster.sandbox(spec, 'dump1'))).toBe(false);
    store.remove('logs', 'large/dump1');
  }, 300_000);
});

/** Programs that upload, by their process ids. */
const uploadersOf = (_root: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(uploadsFolder);
      } catch {
        return false;
      }
    })
    .map(Number);
/** In MB. */
function highWater(pid: number): number {
  try {
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024);
  } catch {
    return 0;
  }
}

describe('the folder', { timeout: 90_000 }, () => {
  const uploadTarget = { kind: 'FOLDER', keepDays: 30, maxMegabytes: 100 };
  const settings = { uploadTarget, checkUploadsEverySeconds: 1 };

  test('and an agent that is killed again and again: each file is there once, and none is lost', async () => {
    cluster = await AgentCluster.start({
      settings: { ...settings, maxUploadMegabytesPerSecond: 1 },
      program: agentProgram,
    });
    const spec = await cluster.run(manyFiles(60), uploadsTo('killed/%s-%index-%filename'));
    for (const pause of [50, 150, 250, 350, 450, 100, 200, 300]) {
      await delay(pause);
      await cluster.killAgent();
      await cluster.startAgent();
    }
    await untilNothingWaits();
    expectAll(60, Object.values(archived()));
    expect(readdirSync(cluster.sandbox(spec)).filter((name) => name.startsWith('dump'))).toEqual([]);
    expect(readdirSync(join(cluster.root, 'archive', '.new'))).toEqual([]);
  }, 120_000);

  test('and an agent that was killed while it saved its progress: the next one removes what is left of that', async () => {
    cluster = await AgentCluster.start({ settings });
    await cluster.run('echo x >dump1', uploadsTo('half/%filename'));
    await untilNothingWaits();
    writeFileSync(join(cluster.root, 'uploads', 'task-file1.uploading.json.58381bef.new'), '{');
    await cluster.restartAgent();
    await untilNothingWaits();
  });

  test('takes no more bandwidth than it is given', async () => {
    cluster = await AgentCluster.start({ settings: { ...settings, maxUploadMegabytesPerSecond: 1 } });
    const began = performance.now();
    await cluster.run('head -c 3000000 /dev/zero >dump1', uploadsTo('slow/%filename'));
    await untilNothingWaits();
    expect(performance.now() - began).toBeGreaterThan(((3_000_000 - 262_144) / 1_048_576) * 1_000);
  });

  test('has no key for a file, nor with a number: the file is given up after a day', async () => {
    let ahead = 0;
    cluster = await AgentCluster.start({ settings, now: () => Date.now() + ahead });
    for (let count = 0; count < 1_000; count++) {
      const names = [...namesOfBucket('logs'), ...namesOfKey(numberedKey('taken/dump1', count))];
      const path = join(cluster.root, 'archive', ...names);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, 'of another');
    }
    const spec = await cluster.run('echo x >dump1', uploadsTo('taken/%filename'));
    await waitFor('a word about it', waits, patience);
    expect(cluster.log.lines.join('\n')).toContain('file1.objstore.json: dump1: its key, and each with a number');
    expect(records()).not.toEqual([]);
    ahead = 86_400_000;
    await untilNothingWaits();
    expect(cluster.output(spec, 'dump1')).toBe('x\n');
  });

  const disk = tempFolder();
  let canMount = false;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m,mode=755', 'muster-test', disk.path], { stdio: 'ignore' });
    canMount = true;
  } catch {
    console.log('Nothing can be mounted here: a full disk is not tested');
  }
  afterAll(() => {
    if (canMount) execFileSync('umount', ['-l', disk.path]);
    disk.remove();
  });

  test.runIf(canMount)(
    'on a full disk has the logs wait, removes nothing for what has no room, and takes them when there is',
    async () => {
      const folder = join(disk.path, 'agent');
      mkdirSync(folder);
      cluster = await AgentCluster.start({ directory: folder, settings: { ...settings, reservedDiskMb: 6 } });
      await cluster.run('echo older >dump0', uploadsTo('full/%filename'));
      await untilNothingWaits();
      const launched = await cluster.launch(
        'until [ -e go ]; do sleep 0.05; done; head -c 2000000 /dev/zero >dump1',
        uploadsTo('full/%filename'),
      );
      await cluster.untilState(launched, 'TASK_RUNNING');
      const filler = join(disk.path, 'filler');
      writeFileSync(filler, Buffer.alloc(33 << 20));
      writeFileSync(cluster.sandbox(launched, 'go'), '');
      await waitFor('a word about it', waits, patience);
      expect(cluster.log.lines.join('\n')).toContain('bucket logs: dump1: too little of the disk is free');
      expect(Object.keys(archived())).toEqual(['dump0']);
      expect(statSync(cluster.sandbox(launched, 'dump1')).size).toBe(2_000_000);
      rmSync(filler);
      await untilNothingWaits();
      expect(Object.entries(archived()).map(([name, { length }]) => [name, length])).toEqual([
        ['dump0', 6],
        ['dump1', 2_000_000],
      ]);
      expect(processesUnder(join(folder, 'sandboxes'))).toEqual([]);
    },
  );
});
