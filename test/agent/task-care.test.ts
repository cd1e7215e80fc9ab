import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processesOf } from '../../src/agent/processes/processes.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { waitFor } from '../support/wait-for.js';

let cluster: AgentCluster;
beforeAll(async () => (cluster = await AgentCluster.start()));
afterAll(() => cluster.close());

async function running(script: string, own: Partial<LaunchSpec> = {}): Promise<LaunchSpec> {
  const spec = await cluster.launch(script, own);
  await cluster.untilState(spec, 'TASK_RUNNING');
  return spec;
}
const kill = (spec: LaunchSpec, graceMillis: number) => cluster.driver.kill(spec.taskId, 's1', graceMillis, 1);
const isReady = (spec: LaunchSpec) => waitFor('ready', () => existsSync(cluster.sandbox(spec, 'ready')));

describe('a command that checks a task', () => {
  const check = (
    { taskId }: LaunchSpec,
    command: string,
    own: { timeoutMillis?: number; maxOutputBytes?: number } = {},
  ) => cluster.driver.runCheck({ taskId, command, timeoutMillis: 10_000, maxOutputBytes: 1_000, ...own }, 's1', 1);

  test('runs in its sandbox, with its variables, and answers its exit code and what it said', async () => {
    const spec = await running('echo yes >mine; exec sleep 600', { environment: { OWN: 'value' } });
    await waitFor('its file', () => existsSync(cluster.sandbox(spec, 'mine')));
    expect(await check(spec, 'cat mine; echo $OWN >&2; exit 3')).toEqual({
      outcome: 'ENDED',
      exitCode: 3,
      output: 'yes\nvalue\n',
    });
    expect(await check(spec, 'test "$(id -u)" = "$(stat -c %u mine)"')).toMatchObject({ exitCode: 0 });
  });

  test('ends with all that it has started when its time is over, and says no more than allowed', async () => {
    const spec = await running('exec sleep 600');
    const before = processesIn(spec).length;
    expect(await check(spec, 'setsid sleep 601 & sleep 602', { timeoutMillis: 300 })).toEqual({
      outcome: 'FAILED',
      reason: 'It took longer than 300 ms',
    });
    await waitFor('the end of all of it', () => processesIn(spec).length === before);
    expect(await check(spec, 'yes | head -c 100000', { maxOutputBytes: 4 })).toMatchObject({ output: 'y\ny\n' });
  });

  test('leaves nothing behind in its group', async () => {
    const spec = await running('exec sleep 600');
    const before = processesIn(spec).length;
    expect(await check(spec, 'sleep 603 & exit 0')).toMatchObject({ exitCode: 0 });
    await waitFor('the end of what it had started', () => processesIn(spec).length === before);
  });

  test('ends with its task, and finds none that has ended', async () => {
    const spec = await running('exec sleep 600');
    const answer = check(spec, ': >ready; exec sleep 604');
    await isReady(spec);
    await kill(spec, 0);
    await cluster.untilState(spec, 'TASK_KILLED');
    expect(await answer).not.toMatchObject({ exitCode: 0 });
    expect(await check(spec, 'true')).toEqual({ outcome: 'GONE' });
  });

  const processesIn = (spec: LaunchSpec) =>
    processesOf({
      shim: undefined,
      sandbox: cluster.sandbox(spec),
      cgroupPids: () => undefined,
      hasStarted: false,
      known: new Map(),
    });
});

describe('the end of a task', () => {
  const loop = 'while :; do sleep 0.02; done';

  test('is asked for by the signal that its deploy names', async () => {
    const spec = await running(`trap 'echo usr1; exit 0' USR1; : >ready; ${loop}`, { killSignal: 'SIGUSR1' });
    await isReady(spec);
    await kill(spec, 60_000);
    await cluster.untilState(spec, 'TASK_KILLED');
    expect(cluster.output(spec)).toBe('usr1\n');
  });

  test('comes after its preStop', async () => {
    const preStop = { command: 'test ! -e told && : >prepared', timeoutMillis: 10_000 };
    const spec = await running(`trap 'ls prepared; exit 0' TERM; : >ready; ${loop}`, { preStop });
    await isReady(spec);
    await kill(spec, 60_000);
    await cluster.untilState(spec, 'TASK_KILLED');
    expect(cluster.output(spec)).toBe('prepared\n');
  });

  test('comes when its preStop takes too long, and when it fails', async () => {
    for (const preStop of [
      { command: 'sleep 605', timeoutMillis: 100 },
      { command: 'exit 7', timeoutMillis: 10_000 },
      { http: { uri: '/', port: 1 }, timeoutMillis: 10_000 },
    ]) {
      const spec = await running(`trap 'echo bye; exit 0' TERM; : >ready; ${loop}`, { preStop });
      await isReady(spec);
      await kill(spec, 60_000);
      await cluster.untilState(spec, 'TASK_KILLED');
      expect(cluster.output(spec)).toBe('bye\n');
      await waitFor('a word about it', () =>
        cluster.log.lines.some((line) => line.includes(spec.taskId) && line.includes('its preStop failed')),
      );
    }
  });

  test('by force does not wait for a preStop that is under way', async () => {
    const preStop = { command: ': >under-way; exec sleep 606', timeoutMillis: 50_000 };
    const spec = await running(`trap '' TERM; ${loop}`, { preStop });
    await kill(spec, 60_000);
    await waitFor('the preStop', () => existsSync(cluster.sandbox(spec, 'under-way')));
    await kill(spec, 0);
    await cluster.untilState(spec, 'TASK_KILLED');
  });

  test('comes after a call of the task has been answered', async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const spec = await running(`trap 'exit 0' TERM; : >ready; ${loop}`, {
      preStop: { http: { uri: '/drain?now', port }, timeoutMillis: 10_000 },
    });
    await isReady(spec);
    await kill(spec, 60_000);
    await cluster.untilState(spec, 'TASK_KILLED');
    server.close();
    expect(asked).toEqual(['/drain?now']);
  });
});
