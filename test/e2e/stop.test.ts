import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Api } from './support/api.js';
import { isAlive, pidsOfTask } from './support/processes.js';
import { Installation, type Instance } from './support/product.js';
import { waitFor } from '../support/wait-for.js';

const installations: Installation[] = [];
afterEach(async () => {
  await Promise.all(installations.splice(0).map((installation) => installation.dispose()));
}, 90_000);
function install(): Installation {
  const installation = new Installation();
  installations.push(installation);
  return installation;
}

async function runWorker(api: Api, instances: number, command: string): Promise<string[]> {
  await api.saveRequest({ id: 'worker', requestType: 'WORKER', instances });
  const resources = { cpus: 0.05, memoryMb: 16 };
  await api.deploy({ requestId: 'worker', id: 'v1', command, resources, considerHealthyAfterRunningForSeconds: 0 });
  await api.deployEnded('worker', 'v1');
  return (await api.running('worker', instances)).map((task) => task.taskId.id).sort();
}
const steps = ({ output }: Instance): string[] =>
  [...output.matchAll(/^ {2}(tasks|agent|scheduler|database): (.*?)(?: \([\d.]+ s\))?$/gm)].map(
    (match) => `${match[1]}: ${match[2]}`,
  );
const lastStates = async (api: Api, taskIds: string[]): Promise<(string | undefined)[]> =>
  Promise.all(taskIds.map(async (id) => (await api.history(id)).taskUpdates.at(-1)?.taskState));

describe('a stop', () => {
  test('ends tasks with their grace, then agent, scheduler and database, and the last statuses are recorded', async () => {
    const installation = install();
    const first = await installation.start();
    await waitFor('what becomes of tasks', () => /^ {2}Tasks {7}end when this process stops/m.test(first.output));
    // Takes a moment to end, as a program does that finishes what it is at.
    const tasks = await runWorker(first.api, 2, "trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done");
    const agent = installation.agentPid();
    await first.stop();
    expect(first.exitCode).toBe(0);
    expect(steps(first)).toEqual(['tasks: 2 stopped', 'agent: stopped', 'scheduler: stopped', 'database: stopped']);
    expect(tasks.flatMap(pidsOfTask)).toEqual([]);
    expect(isAlive(agent)).toBe(false);

    const { api } = await installation.start();
    expect(await lastStates(api, tasks)).toEqual(['TASK_KILLED', 'TASK_KILLED']);
    const replaced = (await api.running('worker', 2)).map((task) => task.taskId.id);
    expect(replaced.filter((id) => tasks.includes(id))).toEqual([]);
  }, 180_000);

  test('with MUSTER_KEEP_TASKS leaves agent and tasks running; what ends meanwhile is seen by the next start', async () => {
    const installation = install();
    const first = await installation.start(['start'], { MUSTER_KEEP_TASKS: 'true' });
    await waitFor('what becomes of tasks', () => /^ {2}Tasks {7}continue when this process stops/m.test(first.output));
    const [victim, ...others] = await runWorker(first.api, 3, 'exec sleep 1000');
    const agent = installation.agentPid();
    await first.stop();
    expect(steps(first)[0]).toBe('agent: left running, with its tasks');
    expect(others.every((id) => pidsOfTask(id).length > 0)).toBe(true);
    for (const pid of pidsOfTask(victim!)) process.kill(pid, 'SIGKILL');

    const { api } = await installation.start();
    expect(installation.agentPid()).toBe(agent);
    const after = await waitFor('the replacement', async () => {
      const ids = (await api.running('worker', 3)).map((task) => task.taskId.id);
      return !ids.includes(victim!) && ids;
    });
    expect(after).toEqual(expect.arrayContaining(others));
    expect(await lastStates(api, [victim!])).toEqual(['TASK_FAILED']);
  }, 180_000);

  test('asked for a second time ends everything now', async () => {
    const installation = install();
    const muster = await installation.start();
    // Would have three minutes to end.
    const tasks = await runWorker(muster.api, 1, "trap '' TERM; while :; do sleep 0.1; done");
    const agent = installation.agentPid();
    muster.signal('SIGINT');
    await waitFor('the stop in order', () => muster.output.includes('Stopping in order'));
    muster.signal('SIGINT');
    await muster.exited(15_000);
    await waitFor('the task to be gone', () => tasks.flatMap(pidsOfTask).length === 0);
    await waitFor('the agent to be gone', () => !isAlive(agent));
  }, 120_000);

  test('asked for a second time ends the tasks too when the agent is slow and the database already gone', async () => {
    const installation = install();
    const muster = await installation.start();
    const tasks = await runWorker(muster.api, 1, "trap '' TERM; while :; do sleep 0.1; done");
    const agent = installation.agentPid();
    muster.signal('SIGINT');
    await waitFor('the stop in order', () => muster.output.includes('Stopping in order'));
    process.kill(agent, 'SIGSTOP');
    try {
      muster.signal('SIGINT');
      await waitFor(
        'the database to be gone',
        () => !existsSync(join(installation.dataDir, 'postgres-18/postmaster.pid')),
      );
      // Whatever the loss of the database set off has reached the agent by now.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    } finally {
      process.kill(agent, 'SIGCONT');
    }
    await muster.exited(15_000);
    await waitFor('the task to be gone', () => tasks.flatMap(pidsOfTask).length === 0);
    await waitFor('the agent to be gone', () => !isAlive(agent));
  }, 120_000);
});

describe('a stop of an instance that is called', () => {
  test('lets the calls in flight end with their answers, and refuses new ones', async () => {
    const installation = install();
    const muster = await installation.start(['scheduler']);
    await muster.api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
    await muster.api.deploy({ requestId: 'job', id: 'v1', command: 'true', resources: { cpus: 0.1, memoryMb: 8 } });
    const db = new Client({ connectionString: installation.databaseUrl() });
    await db.connect();
    onTestFinished(() => db.end().catch(() => undefined));
    const post = (path: string, body: unknown) =>
      fetch(`http://127.0.0.1:${muster.port}/api/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then(
        async (answer) => ({
          status: answer.status,
          closes: answer.headers.get('connection'),
          body: await answer.text(),
        }),
        (cause: unknown) => ({ status: 0, closes: null, body: String(cause) }),
      );
    // They have all begun, and wait for the row of their request.
    await db.query('BEGIN');
    await db.query(`SELECT 1 FROM request WHERE id = 'job' FOR UPDATE`);
    const calls = Array.from({ length: 8 }, () => post('requests/request/job/run', {}));
    await waitFor('the calls to wait', async () => {
      const { rows } = await db.query(
        `SELECT 1 FROM pg_stat_activity WHERE application_name = 'muster api' AND wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
    muster.signal('SIGTERM');
    const refused = await waitFor('a new call to be refused', async () => {
      const answer = await post('requests/request/none/run', {});
      return answer.status === 503 && answer;
    });
    expect(refused).toMatchObject({ closes: 'close', body: expect.stringContaining('is stopping') });
    await db.query('ROLLBACK');
    await db.end();
    // On a machine that is very slow the row was not theirs in time: that is an answer, too.
    for (const { status, closes } of await Promise.all(calls)) {
      expect([200, 503]).toContain(status);
      expect(closes).toBe('close');
    }
    await waitFor('its end', () => muster.exitCode !== undefined, { timeoutMillis: 60_000 });
    expect(muster.exitCode).toBe(0);
    expect(muster.output).not.toMatch(/NotLeaderError|AlreadyReleased/);
  }, 180_000);
});
