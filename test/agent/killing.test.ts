import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isLive, parseStat, readStat } from '../../src/agent/processes/process-identity.js';
import { processesOf } from '../../src/agent/processes/processes.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { waitFor } from '../support/wait-for.js';

describe.each([{ cgroups: 'auto' }, { cgroups: 'off' }])('with cgroups $cgroups', (settings) => {
  let cluster: AgentCluster;
  beforeAll(async () => (cluster = await AgentCluster.start({ settings })));
  afterAll(() => cluster.close());

  const longGrace = 60_000;
  const kill = (spec: LaunchSpec, graceMillis: number) => cluster.driver.kill(spec.taskId, 's1', graceMillis, 1);

  /** Live processes of a task, its shim among them, wherever they went. */
  const processesIn = (spec: LaunchSpec) =>
    processesOf({
      shim: undefined,
      sandbox: cluster.sandbox(spec),
      cgroupPids: () => undefined,
      hasStarted: false,
      known: new Map(),
    });

  /** Pids of the task's program and of its shim. */
  function pidsOf(spec: LaunchSpec): { main: number; shim: number } {
    const [main, shim] = readFileSync(cluster.control(spec, 'task.new'), 'utf8').split('\n').map(parseStat);
    return { main: main!.pid, shim: shim!.pid };
  }

  async function running(script: string): Promise<LaunchSpec> {
    const spec = await cluster.launch(`${script}`);
    await cluster.untilState(spec, 'TASK_RUNNING');
    return spec;
  }

  describe('a kill', () => {
    test('lets a task end in order', async () => {
      const spec = await running(`trap 'echo bye; exit 3' TERM; : >ready; while :; do sleep 0.02; done`);
      await waitFor('ready', () => readFileSync(cluster.sandbox(spec, 'ready')) !== undefined);
      await kill(spec, longGrace);
      expect(await cluster.untilState(spec, 'TASK_KILLED')).toMatch(
        /^Killed gracefully, exit code 3, \d+ ms after the kill$/,
      );
      expect(cluster.output(spec)).toBe('bye\n');
    });

    test('becomes SIGKILL after the grace, and not before', async () => {
      const spec = await running(`trap '' TERM; : >ready; while :; do sleep 0.05; done`);
      await waitFor('ready', () => readFileSync(cluster.sandbox(spec, 'ready')) !== undefined);
      const asked = performance.now();
      await kill(spec, 400);
      expect(await cluster.untilState(spec, 'TASK_KILLED')).toMatch(
        /^Killed by force after waiting at least 400 ms, took \d+ ms$/,
      );
      expect(performance.now() - asked).toBeGreaterThanOrEqual(400);
    });

    test('without grace is SIGKILL at once', async () => {
      const spec = await running(`trap 'echo bye' TERM; while :; do sleep 600; done`);
      await kill(spec, 0);
      expect(await cluster.untilState(spec, 'TASK_KILLED')).toMatch(/^Destroyed \(SIGKILL\) after \d+ ms$/);
      expect(cluster.output(spec)).toBe('');
    });

    test('reaches children and grandchildren', async () => {
      const spec = await running(`sh -c 'sleep 600 & sleep 600 & wait' & sh -c 'sh -c "sleep 600; :"; :' & wait`);
      await waitFor('the whole family', () => processesIn(spec).length >= 7);
      await kill(spec, longGrace);
      await cluster.untilState(spec, 'TASK_KILLED');
      expect(processesIn(spec)).toEqual([]);
    });

    test('reaches children that have made themselves a session of their own', async () => {
      const spec = await running(`setsid sh -c 'trap "" TERM HUP; : >ready; while :; do sleep 1; done' & sleep 600`);
      await waitFor('ready', () => readFileSync(cluster.sandbox(spec, 'ready')) !== undefined);
      await kill(spec, 300);
      await cluster.untilState(spec, 'TASK_KILLED');
      expect(processesIn(spec)).toEqual([]);
    });

    test('reaches what left its session and its environment, too', async () => {
      const inner = `trap "" TERM HUP; echo $$ >"$1"; while :; do sleep 1; done`;
      const spec = await running(`setsid env -i /bin/sh -c '${inner}' - "$PWD/ready" & exec sleep 600`);
      const pid = Number(await waitFor('ready', () => readFileSync(cluster.sandbox(spec, 'ready'), 'utf8').trim()));
      await kill(spec, 300);
      await cluster.untilState(spec, 'TASK_KILLED');
      expect(isLive(readStat(pid))).toBe(false);
    });

    test('signals each process once, and leaves alone what the task starts to clean up', async () => {
      const spec = await running(
        `count=0; trap 'count=$((count+1)); sleep 0.6; echo "cleaned up after $count"; exit 0' TERM; : >ready; while :; do sleep 0.02; done`,
      );
      await waitFor('ready', () => readFileSync(cluster.sandbox(spec, 'ready')) !== undefined);
      await kill(spec, longGrace);
      await cluster.untilState(spec, 'TASK_KILLED');
      expect(cluster.output(spec)).toBe('cleaned up after 1\n');
    });

    test('reaches a task that has been stopped', async () => {
      const spec = await running('kill -STOP $$');
      await waitFor('the stop', () => readStat(pidsOf(spec).main)?.state === 'T');
      await kill(spec, 200);
      await cluster.untilState(spec, 'TASK_KILLED');
    });

    test('that comes at the very start leaves nothing behind', async () => {
      const specs = Array.from({ length: 12 }, () =>
        cluster.spec({ command: { shell: true, value: 'sleep 600', arguments: [] } }),
      );
      for (const [index, spec] of specs.entries()) {
        await cluster.driver.launch([spec], 1);
        await delay(index);
        await kill(spec, longGrace);
      }
      for (const spec of specs) {
        await cluster.untilState(spec, 'TASK_KILLED');
        expect(processesIn(spec)).toEqual([]);
      }
    });

    test('of a task that has ended answers that it is gone', async () => {
      const spec = await cluster.run('exit 0');
      expect(await kill(spec, 0)).toBe('GONE');
    });
  });

  describe('kill -9', () => {
    test('of the task is its failure', async () => {
      const spec = await running('exec sleep 600');
      process.kill(pidsOf(spec).main, 'SIGKILL');
      expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Exit code 137 (signal 9)');
    });

    test('of the shim ends the task too, since its exit status would be unknown', async () => {
      const spec = await running('sleep 600 & setsid sleep 600 & sleep 600');
      await waitFor('the whole family', () => processesIn(spec).length >= 5);
      process.kill(pidsOf(spec).shim, 'SIGKILL');
      expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('shim killed');
      expect(processesIn(spec)).toEqual([]);
    });

    test('of the process group of the task loses nothing but the exit status', async () => {
      const spec = await running('exec sleep 600');
      process.kill(-pidsOf(spec).shim, 'SIGKILL');
      expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('shim killed');
    });
  });

  describe('signals to the shim', () => {
    test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)('%s changes nothing', async (name) => {
      const spec = await running('sleep 0.3; exit 5');
      const { shim } = pidsOf(spec);
      process.kill(shim, name);
      expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Exit code 5');
    });
  });

  test('what a task leaves behind when it ends by itself is ended', async () => {
    const spec = await cluster.launch(`sleep 600 & setsid sh -c 'trap "" TERM HUP; sleep 600' & exit 0`);
    expect(await cluster.untilState(spec, 'TASK_FINISHED')).toBe('Exit code 0');
    expect(processesIn(spec)).toEqual([]);
    expect(cluster.processes().filter(({ pid }) => isLive(readStat(pid)))).toEqual([]);
  });
});
