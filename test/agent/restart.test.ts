import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import { runAgent } from '../../src/agent/agent.js';
import { isAlive, parseStat, type ProcessIdentity } from '../../src/agent/processes/process-identity.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { waitFor } from '../support/wait-for.js';

describe.each([{ cgroups: 'auto' }, { cgroups: 'off' }])(
  'an agent that was killed, with cgroups $cgroups',
  (settings) => {
    let cluster: AgentCluster;
    beforeEach(async () => (cluster = await AgentCluster.start({ program: agentProgram, settings })));
    afterEach(() => cluster.close());

    async function running(script: string, changes: Partial<LaunchSpec> = {}): Promise<LaunchSpec> {
      const spec = await cluster.launch(script, changes);
      await cluster.untilState(spec, 'TASK_RUNNING');
      return spec;
    }
    function processesOf(spec: LaunchSpec): { main: ProcessIdentity; shim: ProcessIdentity } {
      const [main, shim] = readFileSync(cluster.control(spec, 'task.new'), 'utf8').split('\n').map(parseStat);
      return { main: main!, shim: shim! };
    }

    test('finds its tasks again, and how those ended that ended meanwhile', async () => {
      const goesOn = await running('exec sleep 600');
      const ends = await running('while [ ! -e end ]; do sleep 0.02; done; exit 9');
      const dies = await running('exec sleep 600');
      const losesShim = await running('sleep 600 & setsid sleep 600 & wait');
      await cluster.killAgent();
      writeFileSync(cluster.sandbox(ends, 'end'), '');
      process.kill(processesOf(dies).main.pid, 'SIGKILL');
      process.kill(processesOf(losesShim).shim.pid, 'SIGKILL');
      for (const spec of [ends, dies]) await waitFor('the exit file', () => existsSync(cluster.control(spec, 'exit')));
      expect(isAlive(processesOf(goesOn).main)).toBe(true);

      // The driver knows the agent's clock but for half a call: the ends are further back than that.
      await delay(1_000);
      const startedAt = Date.now();
      await cluster.startAgent();
      expect(await cluster.untilState(ends, 'TASK_FAILED')).toBe('Exit code 9');
      expect(await cluster.untilState(dies, 'TASK_FAILED')).toBe('Exit code 137 (signal 9)');
      const told = cluster.seen.updates.filter(({ state }) => state === 'TASK_FAILED');
      for (const { taskId, timestamp } of told)
        if (taskId !== losesShim.taskId) expect(timestamp, 'when it ended').toBeLessThanOrEqual(startedAt);
      expect(await cluster.untilState(losesShim, 'TASK_FAILED')).toContain('shim killed');
      expect(await cluster.driver.launch([goesOn], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: 'TASK_RUNNING' }]);
      expect(cluster.processes().length).toBe(2);

      process.kill(processesOf(goesOn).main.pid, 'SIGTERM');
      expect(await cluster.untilState(goesOn, 'TASK_FAILED')).toBe('Exit code 143 (signal 15)');
      const numbers = cluster.seen.updates.map((update) => update.number);
      expect(numbers).toEqual(numbers.map((_number, index) => index + 1));
    });

    const deaf = `trap '' TERM; : >ready; while :; do sleep 0.05; done`;
    test('goes on with a kill, to the grace that was left', async () => {
      const [spec, later] = [await running(deaf), await running(deaf)];
      for (const each of [spec, later]) await waitFor('ready', () => existsSync(cluster.sandbox(each, 'ready')));
      const asked = Date.now();
      await cluster.driver.kill(spec.taskId, 's1', 4_000, 1);
      await cluster.killAgent();
      await delay(3_000);
      await cluster.startAgent();
      await cluster.driver.kill(later.taskId, 's1', 3_000, 1);
      expect(await cluster.untilState(spec, 'TASK_KILLED')).toContain('by force');
      expect(Date.now() - asked).toBeGreaterThanOrEqual(4_000);
      // Begun anew, its grace would end after that of this one.
      await cluster.untilState(later, 'TASK_KILLED');
      const killed = cluster.seen.updates.filter(({ state }) => state === 'TASK_KILLED');
      expect(killed.map(({ taskId }) => taskId)).toEqual([spec.taskId, later.taskId]);
    });

    test('notices a shim that is killed after it was taken up', async () => {
      const spec = await running('sleep 600 & wait');
      await cluster.killAgent();
      await cluster.startAgent();
      process.kill(processesOf(spec).shim.pid, 'SIGKILL');
      expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('shim killed');
      expect(cluster.processes()).toEqual([]);
    });

    test('remembers the epoch, its incarnation and its tombstones', async () => {
      const before = cluster.incarnation;
      const spec = cluster.spec();
      await cluster.driver.kill(spec.taskId, 's1', 0, 7);
      await cluster.killAgent();
      await cluster.startAgent();
      expect(cluster.incarnation).toBe(before);
      await expect(cluster.driver.launch([spec], 6)).rejects.toThrow('Epoch 6 is over');
      expect(await cluster.driver.launch([spec], 7)).toMatchObject([{ outcome: 'REFUSED' }]);
    });

    test('never starts again what it had accepted but not started', async () => {
      const spec = cluster.spec({ command: { shell: true, value: 'touch started; sleep 600', arguments: [] } });
      await cluster.killAgent();
      writeLaunch(spec);
      await cluster.startAgent();
      expect(await cluster.untilState(spec, 'TASK_LOST')).toContain('before the task was started');
      expect(await cluster.driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: 'TASK_LOST' }]);
      expect(existsSync(cluster.sandbox(spec, 'started'))).toBe(false);
    });

    test.each([
      ['under another name', 'spec.json.1234.new', '{"sp'],
      ['by halves', 'spec.json', '{"spec":{"taskId":"'],
      ['as zeros after a power cut', 'spec.json', '\0'.repeat(4_096)],
      ['as nothing', 'spec.json', ''],
    ])('forgets what it had not accepted yet, %s, so that it can still be launched', async (_what, name, text) => {
      const spec = cluster.spec({ command: { shell: true, value: 'exit 0', arguments: [] } });
      await cluster.killAgent();
      mkdirSync(cluster.control(spec, ''), { recursive: true });
      writeFileSync(cluster.control(spec, name), text);
      await cluster.startAgent();
      await cluster.driver.launch([spec], 1);
      await cluster.untilState(spec, 'TASK_FINISHED');
    });

    test('gives up all tasks when the machine was restarted', async () => {
      const spec = await running('exec sleep 600');
      await cluster.killAgent();
      const saved = JSON.parse(readFileSync(cluster.control(spec, 'spec.json'), 'utf8')) as object;
      writeFileSync(cluster.control(spec, 'spec.json'), JSON.stringify({ ...saved, bootId: 'an earlier boot' }));
      await cluster.startAgent();
      expect(await cluster.untilState(spec, 'TASK_LOST')).toBe('The machine was restarted');
    });

    test('whose folder was emptied ends everything that ran from it, and says so by a new incarnation', async () => {
      const spec = await running('setsid sleep 600 & exec sleep 600');
      const before = cluster.incarnation;
      await cluster.killAgent();
      await waitFor('shim, task and child', () => cluster.processes().length === 3);
      rmSync(cluster.root, { recursive: true });
      await cluster.startAgent();
      expect(cluster.incarnation).not.toBe(before);
      expect(cluster.processes()).toEqual([]);
      await waitFor('the new incarnation', () => cluster.seen.slaves.get('s1')?.incarnation === cluster.incarnation);
      expect(await cluster.driver.launch([spec], 1)).toMatchObject([{ outcome: 'REFUSED' }]);
      const next = await running('exec sleep 600');
      expect(cluster.seen.updates.filter((update) => update.taskId === next.taskId)[0]?.number).toBe(1);
    });

    test('is killed again and again while tasks come and go, and loses none', async () => {
      const specs: LaunchSpec[] = [];
      for (let round = 0; round < 4; round++) {
        const batch = Array.from({ length: 8 }, (_, index) =>
          cluster.spec({
            command: { shell: true, value: `echo x >>runs; sleep 0.${index}; exit ${index}`, arguments: [] },
          }),
        );
        specs.push(...batch);
        const launching = cluster.driver.launch(batch, 1);
        await delay(round * 7);
        await cluster.killAgent();
        await launching;
        await cluster.startAgent();
        // What a scheduler does with answers it did not get.
        const answers = await cluster.driver.launch(batch, 1);
        expect(answers.map((answer) => answer.outcome)).toEqual(batch.map(() => 'ACCEPTED'));
      }
      const isEnd = (state: string) => ['TASK_FINISHED', 'TASK_FAILED', 'TASK_LOST'].includes(state);
      await waitFor('all ends', () => specs.every((spec) => cluster.seen.statesOf(spec.taskId).some(isEnd)), {
        timeoutMillis: 20_000,
      });
      for (const spec of specs) {
        expect(cluster.seen.statesOf(spec.taskId).filter(isEnd).length).toBe(1);
        const runs = existsSync(cluster.sandbox(spec, 'runs')) ? cluster.output(spec, 'runs') : '';
        expect(runs === '' || runs === 'x\n').toBe(true);
      }
      expect(cluster.processes()).toEqual([]);
    });

    function writeLaunch(spec: LaunchSpec): void {
      mkdirSync(cluster.control(spec, ''), { recursive: true });
      const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
      writeFileSync(cluster.control(spec, 'spec.json'), JSON.stringify({ spec, bootId, acceptedAt: Date.now() }));
    }
  },
);

test('a second agent on the same folder is refused, and the first is none the worse', async () => {
  const cluster = await AgentCluster.start({ program: agentProgram });
  try {
    await expect(runAgent({ directory: cluster.root, log: cluster.log })).rejects.toThrow(
      `Another agent runs on ${cluster.root}`,
    );
    await cluster.run('exit 0');
    await cluster.killAgent();
    const successor = await runAgent({ directory: cluster.root, log: cluster.log });
    await successor.stop();
    expect(existsSync(join(cluster.root, 'endpoint.json'))).toBe(false);
  } finally {
    await cluster.close();
  }
});

test('a driver waits for its agent for ever, and goes on when it is back', async () => {
  const cluster = await AgentCluster.start();
  try {
    await cluster.stopAgent();
    expect(await cluster.driver.launch([cluster.spec()], 1)).toMatchObject([{ outcome: 'UNKNOWN' }]);
    expect(await cluster.driver.kill('x', 's1', 0, 1)).toBe('UNKNOWN');
    expect(await cluster.driver.reconcile(1)).toEqual([]);
    await expect(cluster.driver.sandbox('x', 's1')).rejects.toThrow("Slave 's1' cannot be reached");
    expect(cluster.seen.machinesDown).toEqual([]);
    await cluster.startAgent();
    await cluster.run('exit 0');
  } finally {
    await cluster.close();
  }
});
