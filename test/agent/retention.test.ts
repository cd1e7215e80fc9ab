import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { AgentFolder } from '../../src/agent/agent-folder.js';
import { readLocalClusterSettings } from '../../src/agent/settings.js';
import { Tombstones } from '../../src/agent/tasks/tombstones.js';
import { rememberMillis, sweep } from '../../src/agent/machine/watchdog.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { waitFor } from '../support/wait-for.js';

const hour = 3600 * 1000;
let cluster: AgentCluster;
afterEach(() => cluster.close());

/** What the agent does every hour, at another time. */
async function sweepAt(now: number, sandboxRetentionMillis: number): Promise<void> {
  const folder = await AgentFolder.open(cluster.root);
  const settings = readLocalClusterSettings({ sandboxRetentionMillis });
  await sweep(folder, settings, new Tombstones(folder.tombstones), now);
}
const isArchived = (taskId: string) => existsSync(join(cluster.root, 'ended', taskId));

test('sandboxes go when they are old enough and their end is stored, ids are remembered for a day at least', async () => {
  cluster = await AgentCluster.start();
  const ended = await cluster.run('exit 0');
  const running = await cluster.launch('sleep 600');
  await cluster.untilState(running, 'TASK_RUNNING');
  await waitFor('the acknowledgement', () => isArchived(ended.taskId));
  const { driver } = cluster;

  await sweepAt(Date.now() + 2 * hour - 10_000, 2 * hour);
  expect(existsSync(cluster.sandbox(ended))).toBe(true);
  await sweepAt(Date.now() + 2 * hour, 2 * hour);
  expect(existsSync(cluster.sandbox(ended))).toBe(false);
  expect(await driver.launch([ended], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: 'TASK_FINISHED' }]);

  await sweepAt(Date.now() + 1000 * rememberMillis, 2 * hour);
  expect(isArchived(ended.taskId)).toBe(false);
  expect(existsSync(cluster.sandbox(running))).toBe(true);
  expect(readdirSync(join(cluster.root, 'tasks'))).toEqual([running.taskId]);
});

test('an end that nobody has stored keeps its sandbox', async () => {
  cluster = await AgentCluster.start();
  cluster.seen.refuseNext(Infinity);
  const spec = await cluster.launch('echo kept');
  await waitFor('the end', async () => (await cluster.driver.reconcile(1))[0]?.tasks[0]?.state === 'TASK_FINISHED');
  await sweepAt(Date.now() + 1000 * rememberMillis, 0);
  expect(cluster.output(spec)).toBe('kept\n');
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
