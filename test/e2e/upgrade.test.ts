import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { migrations } from '../../src/platform/database/migrations.js';
import { waitFor } from '../support/wait-for.js';
import { buildCommit, commitBeforeLastMigration, type EarlierBuild } from './support/earlier-build.js';
import { isAlive, pidsOfTask } from './support/processes.js';
import { Installation } from './support/product.js';

const commit = await commitBeforeLastMigration();
if (commit === undefined) console.warn('No upgrade was tried: there is no git history from before the last migration');

let earlier: EarlierBuild | undefined;
let installation: Installation | undefined;
afterAll(async () => {
  await installation?.dispose();
  earlier?.remove();
}, 90_000);

const resources = { cpus: 0.05, memoryMb: 16 };
const pidsOf = (taskIds: string[]): number[] => taskIds.flatMap(pidsOfTask).toSorted((a, b) => a - b);

async function query<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

test.skipIf(commit === undefined)(
  'an upgrade leaves the tasks running, migrates, keeps the history readable and goes on deploying; the way back is refused',
  async () => {
    earlier = await buildCommit(commit!);
    installation = new Installation({ program: earlier.program });

    const old = await installation.start(['start', '--keep-tasks']);
    const deploy = { command: 'exec sleep 1000', resources, considerHealthyAfterRunningForSeconds: 0 };
    await old.api.saveRequest({ id: 'worker', requestType: 'WORKER', instances: 2 });
    await old.api.deploy({ requestId: 'worker', id: 'v1', ...deploy });
    await old.api.deployEnded('worker', 'v1');
    await old.api.saveRequest({ id: 'job', requestType: 'RUN_ONCE' });
    await old.api.deploy({ requestId: 'job', id: 'v1', ...deploy, command: 'echo done' });
    const [ended] = await waitFor('the end of the job', async () => {
      const tasks = await old.api.endedTasks('job');
      return tasks.length > 0 && tasks;
    });
    const tasks = (await old.api.running('worker', 2)).map((task) => task.taskId.id);
    const pids = pidsOf(tasks);
    expect(pids.length).toBeGreaterThanOrEqual(2);
    const agent = installation.agentPid();
    const known = await query<{ name: string }>(installation.databaseUrl(), 'SELECT name FROM muster_migration');
    await old.stop();
    expect(old.output).toContain('left running, with its tasks');
    expect(pidsOf(tasks)).toEqual(pids);

    installation.upgrade();
    const present = await installation.start(['start', '--keep-tasks']);
    const { api } = present;
    const added = await query<{ name: string }>(
      installation.databaseUrl(),
      'SELECT name FROM muster_migration ORDER BY id',
    );
    expect(added.length).toBeGreaterThanOrEqual(known.length);
    expect(added.map(({ name }) => name).toSorted()).toEqual(migrations.map(({ name }) => name).toSorted());
    expect((await api.running('worker', 2)).map((task) => task.taskId.id).toSorted()).toEqual(tasks.toSorted());
    expect(pidsOf(tasks)).toEqual(pids);
    expect((await api.deployHistory('worker', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
    expect((await api.history(ended!.taskId.id)).taskUpdates.at(-1)?.taskState).toBe('TASK_FINISHED');

    // The agent is still the former one: it is told to go, and the present one takes its tasks over.
    expect(installation.agentPid()).toBe(agent);
    process.kill(agent, 'SIGTERM');
    await waitFor('the agent to be replaced', () => !isAlive(agent) && installation!.agentPid() !== agent);
    expect((await api.running('worker', 2)).map((task) => task.taskId.id).toSorted()).toEqual(tasks.toSorted());
    expect(pidsOf(tasks)).toEqual(pids);

    await api.deploy({ requestId: 'worker', id: 'v2', ...deploy });
    expect((await api.deployEnded('worker', 'v2')).deployResult?.deployState).toBe('SUCCEEDED');
    const replaced = (await api.running('worker', 2)).map((task) => task.taskId.id);
    expect(replaced.filter((id) => tasks.includes(id))).toEqual([]);

    await query(
      installation.databaseUrl(),
      `INSERT INTO muster_migration (timestamp, name) VALUES (9000000000000, 'Wings9000000000000')`,
    );
    await present.stop();
    const tooOld = await installation.spawn(['start', '--keep-tasks']);
    await tooOld.exited();
    expect(tooOld.exitCode).toBe(1);
    const said = tooOld.output.split('\n').filter((line) => line.includes('Wings9000000000000'));
    expect(said).toEqual([expect.stringContaining(migrations.at(-1)!.name)]);
    expect(pidsOf(replaced).length).toBeGreaterThanOrEqual(2);
  },
  240_000,
);
