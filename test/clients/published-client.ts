import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import { startObjectStore } from '../support/object-store.js';
import type { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

const run = promisify(execFile);

/** Report of a driver about one method of the client that it drives. */
export interface Outcome {
  method: string;
  /** 'fault': the client's own, whatever it talks to. */
  outcome: 'works' | 'fault' | 'fails' | 'not called';
  saw: string;
}

/** Reason why a step that needs the network or another program could not be done; undefined: it was. */
export async function impossible(program: string, args: string[], env: NodeJS.ProcessEnv = {}, cwd?: string) {
  try {
    await run(program, args, { env: { ...process.env, ...env }, cwd, timeout: 300_000, maxBuffer: 1 << 24 });
    return undefined;
  } catch (cause) {
    const { code, stdout, stderr } = cause as { code?: string; stdout?: string; stderr?: string };
    if (code === 'ENOENT') return `there is no ${program}`;
    const lines = `${stdout ?? ''}\n${stderr ?? ''}`.split('\n').filter((line) => line.trim() !== '');
    return `${program} ended with: ${lines.find((line) => /ERROR|403|dial|lookup/.test(line)) ?? lines.at(-1) ?? String(cause)}`;
  }
}

/** A driver's output: one line of JSON for each method. */
export async function outcomesOf(program: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome[]> {
  const options = { env: { ...process.env, ...env }, timeout: 150_000, maxBuffer: 1 << 24 };
  const { stdout } = await run(program, args, options).catch((cause: unknown) => {
    const { stdout = '', stderr = '' } = cause as { stdout?: string; stderr?: string };
    throw new Error(`The driver did not come to its end. It printed:\n${stdout}${stderr.slice(0, 4_000)}`);
  });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Outcome);
}

export interface Place {
  api: Api;
  /** host:port */
  address: string;
  /** An ended task of the request 'logged' with its deploy 'd1', of which two files are in the object store. It crashes in a loop. */
  loggedTask: string;
}

/** No task crashes for as long as one has to. */
async function noteCrashLoop(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const insert = `INSERT INTO crash_loop (request_id, deploy_id, loop_type, started_at) VALUES ('logged', 'd1', 'OOM', now())`;
  await client.query(insert).finally(() => client.end());
}

const machine = { hostname: 'localhost', cpus: 4, memoryMb: 4096, diskMb: 4096 };
const keyOf = (taskId: string, at: number, index: number): string => {
  const [year, month] = new Date(at).toISOString().split('-');
  return `logged/${year}/${month}/${taskId}_${index}-${at}-service.log`;
};

/** The built product with four machines in four racks, set up as docs/migration.md says, while `drive` runs. */
export async function withMuster<T>(contextPath: string, drive: (place: Place) => Promise<T>): Promise<T> {
  const store = await startObjectStore('logs');
  const installation = new Installation({
    database: createDatabase,
    settings: {
      compatibility: '1.5',
      http: { contextPath },
      maxDecommissioningSlaves: 3,
      checkNewTasksEverySeconds: 1,
      crashLoop: { cooldownFailureThreshold: 2 },
      startNewReconcileEverySeconds: 1,
      checkUsageEveryMillis: 1_000,
      disasterDetection: { runEveryMillis: 500 },
      ui: { shellCommands: [{ name: 'look' }] },
      objstore: { objstoreBucket: 'logs', endpoint: store.url, ...store.keys },
    },
    local: {
      slaves: [1, 2, 3, 4].map((n) => ({ ...machine, id: `slave${n}`, rackId: `rack${n}` })),
      shellCommands: [{ name: 'look', command: ['/bin/echo', 'seen'] }],
      // Deploys with containers are taken whatever this machine can run, and wait.
      containers: { engine: 'off', required: false },
    },
  });
  try {
    const { api, port } = await installation.start();
    await api.saveRequest({ id: 'logged', requestType: 'RUN_ONCE' });
    const resources = { cpus: 0.1, memoryMb: 16 };
    await api.deploy({ id: 'd1', requestId: 'logged', command: 'true', resources });
    const ended = await waitFor('the run', async () => (await api.endedTasks('logged'))[0]);
    const { id, startedAt } = ended.taskId;
    for (const index of [0, 1]) {
      const metadata = { starttime: String(startedAt), endtime: String(startedAt + 1_000) };
      store.put('logs', keyOf(id, startedAt, index), { body: 'x', at: startedAt, metadata });
    }
    await noteCrashLoop(installation.databaseUrl());
    return await drive({ api, address: `127.0.0.1:${port}`, loggedTask: id });
  } finally {
    await installation.dispose().finally(() => store.close());
  }
}
