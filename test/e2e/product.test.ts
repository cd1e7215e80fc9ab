import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import pg from 'pg';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import { portsOf } from './support/api.js';
import { killNow, pidsOfTask } from './support/processes.js';
import { Installation, type Instance } from './support/product.js';
import { waitFor } from '../support/wait-for.js';

const example = <T>(path: string): T =>
  JSON.parse(readFileSync(fileURLToPath(new URL(`../../examples/${path}`, import.meta.url)), 'utf8')) as T;
/** Called as its file is: the examples leave the id to the service. */
const exampleDeploy = (path: string): Deploy => ({
  ...example<{ deploy: Deploy }>(path).deploy,
  id: /(v\d+)\.json$/.exec(path)![1]!,
});

describe('a request and a deploy run as real processes', () => {
  const installation = new Installation();
  let muster: Instance;
  let sql: pg.Client;

  beforeAll(async () => {
    muster = await installation.start();
    sql = new pg.Client({ connectionString: installation.databaseUrl() });
    await sql.connect();
  }, 90_000);
  afterAll(async () => {
    await sql?.end();
    await installation.dispose();
  }, 90_000);

  const versionAt = async (port: number): Promise<string | undefined> => {
    try {
      const response = await fetch(`http://localhost:${port}/`, { signal: AbortSignal.timeout(2_000) });
      return /version (\d+)/.exec(await response.text())?.[1];
    } catch {
      return undefined;
    }
  };

  test('three instances are healthy behind three ports, and the next version replaces them without a gap', async () => {
    const { api } = muster;
    await api.saveRequest(example<Request>('web/request.json'));
    await api.deploy(exampleDeploy('web/deploy-v1.json'));
    expect((await api.deployEnded('web', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
    const first = await api.running('web', 3);
    const ports = first.flatMap(portsOf);
    expect(new Set(ports).size).toBe(3);
    expect(await Promise.all(ports.map(versionAt))).toEqual(['1', '1', '1']);

    // From here on calls are made all the time: three or more must answer at every moment.
    let least = 3;
    let watching = true;
    const known = new Set(ports);
    const watch = (async () => {
      while (watching) {
        const answers = await Promise.all([...known].map(versionAt));
        least = Math.min(least, answers.filter((version) => version !== undefined).length);
        for (const task of await api.activeTasks('web')) portsOf(task).forEach((port) => known.add(port));
      }
    })();
    await api.deploy(exampleDeploy('web/deploy-v2.json'));
    expect((await api.deployEnded('web', 'v2')).deployResult?.deployState).toBe('SUCCEEDED');
    const second = await api.running('web', 3);
    watching = false;
    await watch;
    expect(least).toBe(3);
    expect(second.map((task) => task.taskId.deployId)).toEqual(['v2', 'v2', 'v2']);
    expect(await Promise.all(second.flatMap(portsOf).map(versionAt))).toEqual(['2', '2', '2']);
  }, 120_000);

  test.each(['agent.log', 'agent-settings.json', 'agent/secret', 'agent/endpoint.json', 'agent/updates.jsonl'])(
    '%s is for its owner only',
    (name) => expect(statSync(join(installation.dataDir, name)).mode & 0o777).toBe(0o600),
  );

  test.runIf(userInfo().uid === 0)(
    'a deploy as root, by whatever name, is refused, and so is the database',
    async () => {
      const database = String(statSync(join(installation.dataDir, 'postgres-18')).uid);
      for (const user of ['root', '0', '+0', database]) {
        const response = await fetch(`${muster.api.url}/api/deploys`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ deploy: { ...exampleDeploy('web/deploy-v1.json'), id: 'root', user } }),
        });
        const { errors } = (await response.json()) as { errors: { field: string }[] };
        expect([user, response.status, errors[0]?.field]).toEqual([user, 400, 'deploy.user']);
      }
      const environment = readFileSync(`/proc/${installation.agentPid()}/environ`, 'utf8');
      expect(environment).not.toContain('MUSTER_');
    },
  );

  test('a broken version is rolled back and the one before it is not touched', async () => {
    const { api } = muster;
    await api.saveRequest(example<Request>('fragile/request.json'));
    await api.deploy(exampleDeploy('fragile/deploy-v1.json'));
    await api.deployEnded('fragile', 'v1');
    const before = await api.running('fragile', 2);
    await api.deploy(exampleDeploy('fragile/deploy-v2.json'));
    const { deployResult } = await api.deployEnded('fragile', 'v2');
    expect(deployResult?.deployState).toBe('FAILED');
    expect(deployResult?.deployFailures.map((failure) => failure.reason)).toContain('TASK_FAILED_HEALTH_CHECKS');
    const after = await api.running('fragile', 2);
    expect(after.map((task) => task.taskId.id).sort()).toEqual(before.map((task) => task.taskId.id).sort());
    expect((await api.request('fragile')).requestDeployState?.activeDeploy?.deployId).toBe('v1');
  }, 120_000);

  test('a task killed with -9 comes back', async () => {
    const { api } = muster;
    await api.saveRequest(example<Request>('worker/request.json'));
    await api.deploy(exampleDeploy('worker/deploy-v1.json'));
    await api.deployEnded('worker', 'v1');
    const [task] = await api.running('worker', 1);
    const pids = pidsOfTask(task!.taskId.id);
    expect(pids.length).toBeGreaterThan(0);
    killNow(pids);
    const again = await waitFor('another task', async () => {
      const [now] = await api.activeTasks('worker');
      return now && now.taskId.id !== task!.taskId.id && now;
    });
    await api.running('worker', 1);
    expect(again.taskId.instanceNo).toBe(1);
    expect((await api.history(task!.taskId.id)).taskUpdates.at(-1)?.taskState).toBe('TASK_FAILED');
  }, 60_000);

  test('a cron job runs at its second', async () => {
    const { api } = muster;
    await api.saveRequest({ id: 'tick', requestType: 'SCHEDULED', schedule: '*/5 * * * * *' });
    await api.deploy({ requestId: 'tick', id: 'v1', command: 'date', resources: { cpus: 0.1, memoryMb: 16 } });
    const runs = await waitFor(
      'two runs',
      async () => {
        const ended = await api.endedTasks('tick');
        return ended.length >= 2 && ended;
      },
      { timeoutMillis: 30_000 },
    );
    for (const { taskId } of runs) {
      const { task } = await api.history(taskId.id);
      const { nextRunAt } = task.taskRequest.pendingTask.pendingTaskId;
      expect(nextRunAt % 5_000).toBe(0);
      expect(taskId.startedAt - nextRunAt).toBeGreaterThanOrEqual(0);
      // Before the next one is due.
      expect(taskId.startedAt - nextRunAt).toBeLessThan(5_000);
    }
  }, 60_000);

  test('an on-demand job gets its arguments and its output is in its sandbox', async () => {
    const { api } = muster;
    await api.saveRequest(example<Request>('greet/request.json'));
    await api.deploy(exampleDeploy('greet/deploy-v1.json'));
    await waitFor('the deploy', async () => (await api.request('greet')).requestDeployState?.activeDeploy);
    await api.post('requests/request/greet/run', {
      runId: 'run-1',
      commandLineArgs: ['Ada', 'two words', '$HOME "q"'],
    });
    const ended = await waitFor('the end of the run', async () => {
      const state = await api.get<{ currentState?: string; taskId: { id: string } }>('track/run/greet/run-1');
      return state.currentState === 'TASK_FINISHED' && state;
    });
    const chunk = await api.get<{ data: string }>(`sandbox/${ended.taskId.id}/read?path=stdout&offset=0&length=1000`);
    expect(chunk.data).toBe('Hello, Ada!\nHello, two words!\nHello, $HOME "q"!\n');
  }, 60_000);

  test('everything is in SQL afterwards', async () => {
    const rows = async (text: string) => (await sql.query<Record<string, unknown>>(text)).rows;
    const ended = await waitFor('the ended tasks in the history', async () => {
      const found = await rows(`SELECT request_id, count(*)::int AS n, bool_and(data IS NOT NULL) AS complete
        FROM task_history GROUP BY 1 ORDER BY 1`);
      return found.length === 5 && found;
    });
    expect(ended.map((row) => row['request_id'])).toEqual(['fragile', 'greet', 'tick', 'web', 'worker']);
    expect(ended.every((row) => row['complete'])).toBe(true);
    expect(
      await rows(
        `SELECT request_id, deploy_id, state FROM v_deploy_outcome WHERE request_id IN ('web', 'fragile') ORDER BY 1, 2`,
      ),
    ).toEqual([
      { request_id: 'fragile', deploy_id: 'v1', state: 'SUCCEEDED' },
      { request_id: 'fragile', deploy_id: 'v2', state: 'FAILED' },
      { request_id: 'web', deploy_id: 'v1', state: 'SUCCEEDED' },
      { request_id: 'web', deploy_id: 'v2', state: 'SUCCEEDED' },
    ]);
    const changes = await rows(
      `SELECT DISTINCT request_id FROM v_request_change WHERE event_type = 'CREATED' ORDER BY 1`,
    );
    expect(changes.map((row) => row['request_id'])).toEqual(['fragile', 'greet', 'tick', 'web', 'worker']);
    const runs = await rows(`SELECT sum(runs)::int AS n FROM v_runs_per_request_and_day WHERE request_id = 'greet'`);
    expect(runs).toEqual([{ n: 1 }]);
  }, 60_000);
});
