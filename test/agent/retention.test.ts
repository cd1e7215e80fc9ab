import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ExecutorData } from '../../src/core/model/deploy.js';
import { type RemovalReason, removalReasons } from '../../src/cluster/cluster-driver.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentDirectory } from '../../src/agent/state/agent-directory.js';
import { readLocalClusterSettings } from '../../src/agent/settings.js';
import { Tombstones } from '../../src/agent/state/tombstones.js';
import { Cleanup, type CleanupResult, rememberMillis } from '../../src/agent/upkeep/cleanup.js';
import { Removals } from '../../src/agent/upkeep/removals.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

const hour = 3600 * 1000;
let cluster: AgentCluster;
let removals = new Removals();
beforeEach(() => void (removals = new Removals()));
afterEach(() => cluster.close());

/** Runs the hourly cleanup of the agent at another time. */
async function sweepAt(now: number, sandboxRetentionMillis: number, changes: object = {}): Promise<CleanupResult> {
  const directory = await AgentDirectory.open(cluster.root);
  const settings = readLocalClusterSettings({ sandboxRetentionMillis, ...changes });
  const stopping = new AbortController().signal;
  const { log } = cluster;
  const cleanup = new Cleanup({ directory, settings, rotateProgram: [], stopping, removals, log, now: () => now });
  return cleanup.run(new Tombstones(directory.tombstones));
}

const removed = (reason: RemovalReason) => [...removals.list()].find((each) => each.reason === reason);
const isArchived = (taskId: string) => existsSync(join(cluster.root, 'ended', taskId));

test('sandboxes go when they are old enough and their end is stored, ids are remembered for a day at least', async () => {
  cluster = await AgentCluster.start();
  const ended = await cluster.run('exit 0', { launchId: 'first' });
  const running = await cluster.launch('sleep 600');
  await cluster.untilState(running, 'TASK_RUNNING');
  await waitFor('the acknowledgement', () => isArchived(ended.taskId));
  const { driver } = cluster;

  await sweepAt(Date.now() + 2 * hour - 10_000, 2 * hour);
  expect(existsSync(cluster.sandbox(ended))).toBe(true);
  await sweepAt(Date.now() + 2 * hour, 2 * hour);
  expect(existsSync(cluster.sandbox(ended))).toBe(false);
  // A repeated launch is answered by these few bytes.
  const record = join(cluster.root, 'ended', ended.taskId);
  expect(readdirSync(record)).toEqual(['end.json']);
  expect(statSync(join(record, 'end.json')).size).toBeLessThan(500);
  expect(await driver.launch([ended], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: 'TASK_FINISHED' }]);

  expect(await driver.launch([{ ...ended, launchId: 'another' }], 1)).toMatchObject([{ outcome: 'ID_IN_USE' }]);

  await sweepAt(Date.now() + 1000 * rememberMillis, 2 * hour);
  expect(isArchived(ended.taskId)).toBe(false);
  expect(existsSync(cluster.sandbox(running))).toBe(true);
  expect(readdirSync(join(cluster.root, 'tasks'))).toEqual([running.taskId]);
});

test('a request keeps the sandboxes of its newest tasks, or of some days, and no longer than the others', async () => {
  cluster = await AgentCluster.start();
  const launch = (requestId: string, keepSandboxes?: LaunchSpec['keepSandboxes']) =>
    cluster.run('exit 0', { requestId, ...(keepSandboxes && { keepSandboxes }) });
  const acknowledged = async (spec: LaunchSpec): Promise<LaunchSpec> => {
    await waitFor('the acknowledgement', () => isArchived(spec.taskId));
    return spec;
  };
  const counted: LaunchSpec[] = [];
  // The newest says how many, whatever those before it were launched with.
  for (const count of [9, 9, 2]) counted.push(await acknowledged(await launch('counted', { count })));
  const days = await acknowledged(await launch('days', { days: 2 }));
  const other = await acknowledged(await launch('other'));
  const kept = () => [...counted, days, other].map((spec) => existsSync(cluster.sandbox(spec)));

  await sweepAt(Date.now() + hour / 4 - 10_000, 100 * hour);
  expect(kept()).toEqual([true, true, true, true, true]);
  await sweepAt(Date.now() + hour / 4, 100 * hour);
  expect(kept()).toEqual([false, true, true, true, true]);
  await sweepAt(Date.now() + 48 * hour, 100 * hour);
  expect(kept()).toEqual([false, true, true, false, true]);
  await sweepAt(Date.now() + 100 * hour, 100 * hour);
  expect(kept()).toEqual([false, false, false, false, false]);
});

const executor = (cmd: string, changes: Partial<ExecutorData> = {}): Partial<LaunchSpec> => ({
  executorData: { cmd, ...changes },
  command: { shell: true, value: cmd, arguments: [] },
});
const area = (spec: LaunchSpec, ...path: string[]) => cluster.sandbox(spec, spec.taskId, ...path);

test('app folders go after 15 minutes, those of failed tasks after their time, preserved ones stay', async () => {
  cluster = await AgentCluster.start();
  const done = await cluster.run('', executor('touch made'));
  const failed = await cluster.run('', executor('sh -c "exit 3"'));
  const preserved = await cluster.run('', executor('touch made', { preserveTaskSandboxAfterFinish: true }));
  const plain = await cluster.run('echo x');
  const all = [done, failed, preserved, plain];
  await waitFor('the acknowledgements', () => all.every(({ taskId }) => isArchived(taskId)));
  const apps = () => [done, failed, preserved].map((spec) => existsSync(area(spec, 'app')));
  const settings = { cleanupAppDirectoryOfFailedTasksAfterMillis: 3 * hour };

  await sweepAt(Date.now() + hour / 4 - 10_000, 1000 * hour, settings);
  expect(apps()).toEqual([true, true, true]);
  expect(await sweepAt(Date.now() + hour / 4, 1000 * hour, settings)).toMatchObject({
    totalTaskFiles: 4,
    successfullyCleanedTasks: 2,
    waitingTasks: 2,
    errorTasks: 0,
    removedAppFolders: 1,
    removedSandboxes: 0,
    freedBytes: expect.any(Number),
  });
  expect(removed('APP_FOLDER')).toMatchObject({ count: 1 });
  expect(removed('APP_FOLDER')!.bytes).toBeGreaterThan(0);
  expect(apps()).toEqual([false, true, true]);
  await sweepAt(Date.now() + 3 * hour, 1000 * hour, settings);
  expect(apps()).toEqual([false, false, true]);
  expect(existsSync(area(done, 'tail_of_finished_service.log'))).toBe(true);
  expect(JSON.parse(readFileSync(join(cluster.root, 'cleanup.json'), 'utf8'))).toMatchObject({ removedAppFolders: 1 });
});

test('a link in place of the folder of a task, or of its app folder, is not followed', async () => {
  cluster = await AgentCluster.start();
  const target = tempFolder();
  mkdirSync(join(target.path, 'app'), { mode: 0o777 });
  writeFileSync(join(target.path, 'app', 'kept'), '');
  const moved = await cluster.run(
    '',
    executor(`sh -c 'cd ../..; mv $CLUSTER_TASK_ID x; ln -s ${target.path} $CLUSTER_TASK_ID'`),
  );
  const linked = await cluster.run('', executor(`sh -c 'cd ..; rm -r app; ln -s ${target.path} app'`));
  await waitFor('the acknowledgements', () => [moved, linked].every(({ taskId }) => isArchived(taskId)));
  expect(await sweepAt(Date.now() + hour, 1000 * hour)).toMatchObject({ errorTasks: 0, removedAppFolders: 0 });
  expect(existsSync(join(target.path, 'app', 'kept'))).toBe(true);
  target.remove();
});

test('the record for a log watcher goes with the sandbox of its task, and one that was left goes later', async () => {
  cluster = await AgentCluster.start();
  const tagged = executor('sleep 600', { loggingTag: 'web' });
  const running = await cluster.launch('', tagged);
  await cluster.untilState(running, 'TASK_RUNNING');
  const ended = await cluster.run('', executor('echo x', { loggingTag: 'web' }));
  await waitFor('the acknowledgement', () => isArchived(ended.taskId));
  const watched = join(cluster.root, 'log-watcher');
  /** As an earlier release left it, without its sandbox. */
  const leave = (name: string, filename: string) =>
    writeFileSync(join(watched, `${name}.tail.json`), JSON.stringify({ filename, tag: 'web', finished: true }));
  leave('left', join(cluster.root, 'sandboxes/gone/gone/service.log'));
  leave('of-another-agent', '/other/agent/sandboxes/gone/gone/service.log');
  const followed = () => {
    const all = readdirSync(watched).map((name) => JSON.parse(readFileSync(join(watched, name), 'utf8')) as TailRecord);
    return all.map(({ filename, finished }) => [filename, finished]).toSorted();
  };
  const ofRunning = [area(running, 'service.log'), false];
  const ofEnded = [area(ended, 'service.log'), true];
  const left = [join(cluster.root, 'sandboxes/gone/gone/service.log'), true];
  const ofAnother = ['/other/agent/sandboxes/gone/gone/service.log', true];
  await waitFor('the last record of the log', () => followed().some(([path, end]) => path === ofEnded[0] && end));

  await sweepAt(Date.now() + 2 * hour - 60_000, 2 * hour);
  expect(followed()).toEqual([ofAnother, ofEnded, left, ofRunning].toSorted());
  await sweepAt(Date.now() + 2 * hour, 2 * hour);
  expect(existsSync(cluster.sandbox(ended))).toBe(false);
  expect(followed()).toEqual([ofAnother, ofRunning].toSorted());
});

test('a sandbox whose task is not known any more goes with the records about its files', async () => {
  cluster = await AgentCluster.start();
  const sandbox = join(cluster.root, 'sandboxes', 'gone');
  mkdirSync(sandbox);
  mkdirSync(join(cluster.root, 'uploads'), { recursive: true });
  const record = join(cluster.root, 'uploads', 'gone-default.objstore.json');
  const rules = { finished: false, uploadImmediately: false, checkSubdirectories: false, keepsFiles: false };
  const place = { directory: sandbox, fileGlob: 'std*', objstoreBucket: 'logs', objstoreKeyFormat: '%filename' };
  writeFileSync(record, JSON.stringify({ ...rules, ...place, task: 'gone', sandbox }));
  await sweepAt(Date.now() + 2 * hour - 60_000, 2 * hour);
  expect([existsSync(sandbox), existsSync(record)]).toEqual([true, true]);
  await sweepAt(Date.now() + 2 * hour, 2 * hour);
  expect([existsSync(sandbox), existsSync(record)]).toEqual([false, false]);
});

interface TailRecord {
  filename: string;
  finished: boolean;
}

test('rotated additional files that are marked go after 15 minutes', async () => {
  const logrotateAdditionalFiles = [{ filename: 'app/*.log', deleteInExecutorCleanup: true }, 'app/b.txt'];
  cluster = await AgentCluster.start({ settings: { logrotateAdditionalFiles } });
  const spec = await cluster.run(
    '',
    executor(`sh -c 'echo a >a.log; echo b >b.txt; echo c >c-1.log'`, { preserveTaskSandboxAfterFinish: true }),
  );
  await waitFor('the acknowledgement', () => isArchived(spec.taskId));
  expect(readdirSync(area(spec, 'app')).map((name) => name.replace(/-2\d+/, ''))).toEqual([
    'a.log.gz',
    'b.txt.gz',
    'c-1.log.gz',
  ]);
  await sweepAt(Date.now() + hour / 4 - 10_000, 1000 * hour, { logrotateAdditionalFiles });
  expect(readdirSync(area(spec, 'app'))).toHaveLength(3);
  await sweepAt(Date.now() + hour / 4, 1000 * hour, { logrotateAdditionalFiles });
  expect(readdirSync(area(spec, 'app')).map((name) => name.replace(/-2\d+/, ''))).toEqual(['b.txt.gz']);
});

test('a rotated file beside its empty compressed twin is compressed again', async () => {
  cluster = await AgentCluster.start();
  const spec = await cluster.run('', executor('echo x'));
  await waitFor('the acknowledgement', () => isArchived(spec.taskId));
  writeFileSync(area(spec, 'logs', 'service.log-2026'), 'whole\n');
  writeFileSync(area(spec, 'logs', 'service.log-2026.gz'), '');
  const { uid } = statSync(area(spec, 'logs'));
  for (const name of ['service.log-2026', 'service.log-2026.gz']) chownSync(area(spec, 'logs', name), uid, uid);
  expect(await sweepAt(Date.now(), 1000 * hour)).toMatchObject({ errorTasks: 0 });
  expect(existsSync(area(spec, 'logs', 'service.log-2026'))).toBe(false);
  expect(gunzipSync(readFileSync(area(spec, 'logs', 'service.log-2026.gz'))).toString()).toBe('whole\n');
  expect(statSync(area(spec, 'logs', 'service.log-2026.gz')).uid).toBe(uid);
});

test('while the disk is fuller than it may be, sandboxes go that are older than 15 minutes', async () => {
  cluster = await AgentCluster.start();
  const spec = await cluster.run('echo x');
  const running = await cluster.launch('sleep 600');
  await waitFor('the acknowledgement', () => isArchived(spec.taskId));
  await sweepAt(Date.now(), 1000 * hour, { sandboxDiskHighWaterPct: 1 });
  expect(existsSync(cluster.sandbox(spec))).toBe(true);
  writeFileSync(cluster.sandbox(spec, 'large'), Buffer.alloc(1 << 20));
  const result = await sweepAt(Date.now() + hour, 1000 * hour, { sandboxDiskHighWaterPct: 1 });
  expect(removed('DISK_FULL')).toMatchObject({ count: 1 });
  expect(removed('DISK_FULL')!.bytes).toBeGreaterThan(1 << 20);
  expect([result.removedSandboxes, existsSync(cluster.sandbox(spec)), existsSync(cluster.sandbox(running))]).toEqual([
    1,
    false,
    true,
  ]);
});

test('an end that is not stored keeps its sandbox', async () => {
  cluster = await AgentCluster.start();
  cluster.seen.refuseNext(Infinity);
  const spec = await cluster.launch('echo kept');
  await waitFor('the end', async () => (await cluster.driver.reconcile(1))[0]?.tasks[0]?.state === 'TASK_FINISHED');
  await sweepAt(Date.now() + 1000 * rememberMillis, 0);
  expect(cluster.output(spec)).toBe('kept\n');
});

test('what the agent has removed is told with the use of its machine, by reason', async () => {
  cluster = await AgentCluster.start();
  const usage = await cluster.driver.machineUsage('s1');
  expect(usage!.agent).toMatchObject({ agentId: 'local', failures: 0 });
  expect(usage!.agent!.removed.map(({ reason }) => reason)).toEqual(removalReasons);
  expect(usage!.agent!.sandboxDiskTotalBytes).toBeGreaterThan(usage!.agent!.sandboxDiskUsedBytes);
});

test('tombstones live for a day', async () => {
  cluster = await AgentCluster.start();
  const spec = cluster.spec();
  await cluster.driver.kill(spec.taskId, 's1', 0, 1);
  await sweepAt(Date.now() + rememberMillis - 10_000, 0);
  expect(readdirSync(join(cluster.root, 'tombstones'))).toEqual([spec.taskId]);
  await sweepAt(Date.now() + rememberMillis + 10_000, 0);
  expect(readdirSync(join(cluster.root, 'tombstones'))).toEqual([]);
});

test('a restarted agent knows ended tasks, acknowledged or not', async () => {
  cluster = await AgentCluster.start();
  const archived = await cluster.run('exit 0');
  await waitFor('the acknowledgement', () => isArchived(archived.taskId));
  cluster.seen.refuseNext(Infinity);
  const pending = await cluster.launch('exit 4');
  await waitFor('the end', async () => (await cluster.driver.reconcile(1))[0]?.tasks[0]?.state === 'TASK_FAILED');
  await cluster.restartAgent();
  expect(await cluster.driver.launch([archived, pending], 1)).toMatchObject([
    { outcome: 'ACCEPTED', state: 'TASK_FINISHED' },
    { outcome: 'ACCEPTED', state: 'TASK_FAILED' },
  ]);
  cluster.seen.refuseNext(0);
  expect(await cluster.untilState(pending, 'TASK_FAILED')).toBe('Exit code 4');
  expect(cluster.seen.statesOf(pending.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FAILED']);
});
