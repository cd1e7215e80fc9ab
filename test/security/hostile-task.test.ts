import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import { Api } from '../e2e/support/api.js';
import { Installation, type Instance } from '../e2e/support/product.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

const script = readFileSync(new URL('hostile-task.sh', import.meta.url), 'utf8');
const attempts = [...script.matchAll(/^(?:attempt|.*\bheld) (['"])([^$]+?)\1/gm)].map(([, , name]) => name!);
const bootstrapToken = 'a-first-token-for-the-operator-of-this-test';
const resources = { cpus: 0.1, memoryMb: 512, numPorts: 0 };
const endStates = ['TASK_FINISHED', 'TASK_FAILED', 'TASK_KILLED', 'TASK_LOST'];

/** Ports that others listen on: what answers there is not ours to judge. */
const listening = (): number[] =>
  readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === '0A')
    .map(([, at = '']) => Number.parseInt(at.split(':')[1] ?? '', 16));

/** Programs of the names that the agent uses, and files that shells and the loader read: each leaves a proof of who ran it. */
function setTraps(folder: string, proofs: string): Record<string, string> {
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  const leaveProof = `command -p id -u >"$(command -p mktemp '${proofs}/XXXXXXXX')" 2>/dev/null`;
  for (const name of ['ln', 'mv', 'setpriv', 'prlimit', 'env', 'cat', 'sh', 'bash', 'mkdir', 'chown', 'tar', 'du']) {
    const real = spawnSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    if (real === '') continue;
    writeFileSync(join(programs, name), `#!/bin/sh\n${leaveProof}\nexec ${real} "$@"\n`, { mode: 0o755 });
  }
  const startUp = join(folder, 'start-up');
  writeFileSync(startUp, `${leaveProof}\n`);
  const library = join(folder, 'preloaded.so');
  const code = `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void leave_proof(void) {
  char path[] = "${proofs}/XXXXXX";
  int file = mkstemp(path);
  if (file >= 0) { dprintf(file, "%d", getuid()); close(file); }
}`;
  const compiler = ['-shared', '-fPIC', '-x', 'c', '-o', library, '-'];
  const hasLibrary = spawnSync('cc', compiler, { input: code }).status === 0;
  return {
    PATH: `${programs}:${process.env['PATH']}`,
    BASH_ENV: startUp,
    ENV: startUp,
    ...(hasLibrary && { LD_PRELOAD: library }),
  };
}

describe.runIf(userInfo().uid === 0)('a hostile task beside others', () => {
  const traps = tempFolder();
  const proofs = join(traps.path, 'proofs');
  const installation = new Installation({
    local: { maxProcessesPerTask: 200 },
    settings: { auth: { enabled: true, adminGroups: ['ops'], bootstrapToken } },
  });
  let muster: Instance;
  let ann: Api;
  let bob: Api;
  let victim: string;
  let agentPid: number;
  let spared: number[];
  beforeAll(async () => {
    chmodSync(traps.path, 0o755);
    mkdirSync(proofs);
    chmodSync(proofs, 0o1777);
    spared = listening();
    muster = await installation.start();
    const admin = new Api(muster.api.url, { authorization: `Token ${bootstrapToken}` });
    const as = async (id: string, group: string): Promise<Api> => {
      const user = { id, email: `${id}@example.com`, groups: [group] };
      const { token } = await admin.post<{ token: string }>('auth/token', { user });
      return new Api(muster.api.url, { authorization: `Token ${token}` });
    };
    [ann, bob] = [await as('ann', 'web'), await as('bob', 'evil')];
    await ann.saveRequest({ id: 'victim', requestType: 'SERVICE', instances: 1, group: 'web' });
    await ann.deploy({
      requestId: 'victim',
      id: 'v1',
      command: 'echo of ann; echo "$DB_PASSWORD" >private; exec sleep 600',
      env: { DB_PASSWORD: 'victims-password' },
      resources,
    } as Deploy);
    [victim] = (await ann.running('victim', 1)).map(({ taskId }) => taskId.id) as [string];
    agentPid = installation.agentPid();
  });
  afterAll(async () => {
    await installation.dispose();
    traps.remove();
  });

  /** Runs it once, and answers the id of its task when that has ended. */
  async function run(id: string, deploy: Partial<Deploy>, timeoutMillis: number): Promise<string> {
    await bob.saveRequest({ id, requestType: 'RUN_ONCE', group: 'evil' });
    await bob.deploy({ requestId: id, id: 'v1', resources, ...deploy } as Deploy);
    return waitFor(
      `the end of ${id}`,
      async () => (await bob.endedTasks(id)).find(({ lastTaskState }) => endStates.includes(lastTaskState!))?.taskId.id,
      { timeoutMillis },
    );
  }

  const read = async (task: string, path: string): Promise<string> => {
    const query = new URLSearchParams({ path, offset: '0', length: '60000' });
    return (await bob.get<{ data: string }>(`sandbox/${task}/read?${query}`)).data;
  };

  /** Output of a task that did not get to its report. */
  async function whatItSaid(task: string): Promise<string> {
    const { taskUpdates } = await bob.history(task);
    const output = await Promise.all(['stdout', 'stderr'].map((path) => read(task, path).catch(String)));
    return [...output, ...taskUpdates.map(({ statusMessage }) => statusMessage)].join('\n');
  }

  test('reads, writes, stops and slows nothing of others', async () => {
    const { dataDir } = installation;
    const database = Number(/:(\d+)\//.exec(muster.output)?.[1] ?? 0);
    const words = [join(dataDir, 'agent'), victim, muster.pid, muster.port, database].map((word) => `'${word}'`);
    const task = await run(
      'hostile',
      {
        command: `cat >hostile.sh <<'END OF SCRIPT'\n${script}\nEND OF SCRIPT\nexec bash hostile.sh ${words.join(' ')}`,
        env: { ...setTraps(traps.path, proofs), HOSTILE_PROOFS: proofs, SPARED: spared.join(' ') },
        resources: { ...resources, diskMb: 100 },
      },
      240_000,
    );
    const report = (await read(task, 'report').catch(() => whatItSaid(task))).trim().split('\n');
    expect(report).toEqual([...attempts.map((name) => `held ${name}`), 'all attempts made']);
    const who = readdirSync(proofs).map((file) => readFileSync(join(proofs, file), 'utf8').trim());
    expect(who.length).toBeGreaterThan(0);
    expect(who).not.toContain('0');

    // What it left behind shows nothing of others to those who read it by the API.
    const secret = readFileSync(join(dataDir, 'agent', 'secret'), 'utf8').trim();
    for (const path of ['stdout', 'stderr', 'stdout.link', 'passwd.link', 'environ.link', 'device.link', 'pipe-1']) {
      const text = await read(task, path).catch((cause: Error) => cause.message);
      expect(text).not.toContain(secret);
      expect(text).not.toMatch(/^root:/m);
    }
    for (const path of ['root.link/etc', 'sandbox.link']) {
      const { files } = await bob.get<{ files: unknown[] }>(`sandbox/${task}/browse?path=${encodeURIComponent(path)}`);
      expect(files).toEqual([]);
    }
  }, 300_000);

  test('writes no larger file than it may, whether the kernel or the agent is first to stop it', async () => {
    const command = 'head -c 300000000 /dev/zero >huge; echo "wrote $(stat -c %s huge)"; rm huge';
    const task = await run('huge', { command, resources: { ...resources, diskMb: 100 } }, 60_000);
    const said = await whatItSaid(task);
    expect(said).toMatch(/^wrote \d+$|^Disk limit exceeded: 100 MB/m);
    expect(said).not.toContain('wrote 300000000');
  }, 90_000);

  test('leaves the agent answering when the logs of many tasks are pipes at their end', async () => {
    const cmd = 'rm -f ../service.log ../executor.bash.log; mkfifo ../service.log ../executor.bash.log';
    const deploy = { customExecutorCmd: 'own', executorData: { cmd } } as Partial<Deploy>;
    const ended = Array.from({ length: 8 }, (_, number) => run(`pipes-${number}`, deploy, 60_000));
    await Promise.all(ended);
    expect(await ann.get(`sandbox/${victim}/browse`)).toMatchObject({ files: expect.any(Array) as unknown[] });
  }, 90_000);

  test('and the others are as they were', async () => {
    const [task, ...more] = await ann.running('victim', 1);
    expect(more).toEqual([]);
    expect(task!.taskId.id).toBe(victim);
    expect(installation.agentPid()).toBe(agentPid);
    expect(existsSync(`/proc/${agentPid}`)).toBe(true);
    expect(muster.running).toBe(true);
    const sandbox = join(installation.dataDir, 'agent', 'sandboxes', victim);
    expect(readFileSync(join(sandbox, 'private'), 'utf8')).toBe('victims-password\n');
    expect(readdirSync(sandbox)).not.toContain('planted');
  });
});
