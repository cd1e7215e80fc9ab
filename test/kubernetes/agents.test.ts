import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { MachineUnreachableError } from '../../src/cluster/cluster-driver.js';
import { KubernetesDriver } from '../../src/cluster/kubernetes/kubernetes-driver.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { EventRecorder } from '../support/event-recorder.js';
import { launchSpec } from '../support/launch-spec.js';
import { waitFor } from '../support/wait-for.js';
import { Lab, labBinaries } from './lab/lab.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const slow = { timeoutMillis: 60_000, everyMillis: 100 };
const slaveId = 'node-1';

describe.skipIf(labBinaries === undefined)('agents on the nodes of a real Kubernetes', () => {
  let lab: Lab;
  let driver: KubernetesDriver;
  let seen: EventRecorder;
  let count = 0;

  beforeAll(async () => {
    lab = await Lab.start({ hasAgents: true });
    ({ driver, seen } = await lead(lab.settings()));
  });
  afterAll(async () => {
    await driver?.close();
    await lab?.stop();
  });

  async function lead(settings: ReturnType<Lab['settings']>) {
    const recorder = new EventRecorder();
    const leader = await KubernetesDriver.open({ now: Date.now, settings, defaultRackId: 'DEFAULT', log: quiet });
    await leader.start(1, recorder);
    await waitFor('the node', () => recorder.slaves.size > 0, slow);
    return { driver: leader, seen: recorder };
  }

  const specOf = (script: string, changes: Partial<LaunchSpec> = {}): LaunchSpec =>
    launchSpec({
      taskId: `request-deploy-${Date.now()}-${++count}-host-rack`,
      slaveId,
      incarnation: seen.onlyIncarnation(),
      command: { shell: true, value: script, arguments: [] },
      ...changes,
    });
  async function launch(script: string, changes: Partial<LaunchSpec> = {}): Promise<string> {
    const spec = specOf(script, changes);
    expect(await driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED' }]);
    return spec.taskId;
  }
  const until = (taskId: string, state: string, recorder = seen) =>
    waitFor(`${state} of ${taskId}`, () => recorder.statesOf(taskId).includes(state), slow);
  const lastOf = (taskId: string) => seen.updates.filter((update) => update.taskId === taskId).at(-1);
  async function textOf(taskId: string, path: string): Promise<string | undefined> {
    const sandbox = await driver.sandbox(taskId, slaveId);
    return (await sandbox?.read(path, 0, 1_000))?.data.toString();
  }

  test('files of a task are read while it runs, when it has ended, and when its pod is gone', async () => {
    const taskId = await launch(
      'echo hello; echo oops >&2; mkdir deep; echo inside >deep/file; cat </dev/null; sleep 3',
    );
    await until(taskId, 'TASK_RUNNING');
    await waitFor('the file', async () => (await textOf(taskId, 'deep/file')) === 'inside\n', slow);
    await until(taskId, 'TASK_FINISHED');
    for (const when of ['after its end', 'without its pod']) {
      if (when === 'without its pod') await lab.removePods();
      await waitFor('what it printed', async () => (await textOf(taskId, 'stdout')) === 'hello\n', slow);
      expect(await textOf(taskId, 'stderr')).toBe('oops\n');
      const sandbox = (await driver.sandbox(taskId, slaveId))!;
      expect((await sandbox.list(''))!.map(({ name }) => name).toSorted()).toEqual(['deep', 'stderr', 'stdout']);
      const file = (await sandbox.download('deep/file', 2))!;
      expect((await buffer(file.stream)).toString()).toBe('side\n');
      expect(await sandbox.read('../../../etc/passwd', 0, 10).catch(() => undefined)).toBeUndefined();
    }
  });

  test('an instance that does not lead reads them, too', async () => {
    const taskId = await launch('echo hello');
    await until(taskId, 'TASK_FINISHED');
    const other = await KubernetesDriver.open({
      now: Date.now,
      settings: lab.settings(),
      defaultRackId: 'DEFAULT',
      log: quiet,
    });
    try {
      const read = async () => (await (await other.sandbox(taskId, slaveId))?.read('stdout', 0, 10))?.data.toString();
      await waitFor('what it printed', async () => (await read()) === 'hello\n', slow);
      expect(await other.machineUsage(slaveId)).toMatchObject({ slaveId });
      expect(await other.machineUsage('nobody')).toBeUndefined();
    } finally {
      await other.close();
    }
  });

  test('a task that takes more of the disk than it may ends as on a local agent', async () => {
    const taskId = await launch('dd if=/dev/zero of=big bs=1048576 count=20; sleep 600', { diskMb: 5 });
    await until(taskId, 'TASK_FAILED');
    expect(lastOf(taskId)).toMatchObject({
      message: 'Disk limit exceeded: 5 MB',
      reason: 'REASON_CONTAINER_LIMITATION_DISK',
    });
  });

  test('figures tell what a task uses', async () => {
    const taskId = await launch('dd if=/dev/zero of=file bs=1048576 count=3; sleep 600', { cpus: 0.5, memoryMb: 32 });
    await until(taskId, 'TASK_RUNNING');
    const figures = await waitFor(
      'the file to be measured',
      async () => {
        const found = await driver.statistics(taskId, slaveId);
        return found && found.diskUsedBytes >= 3 * 2 ** 20 && found;
      },
      slow,
    );
    expect(figures).toMatchObject({ taskId, cpusLimit: 0.5, memLimitBytes: 32 * 2 ** 20 });
    expect(figures.memTotalBytes).toBeGreaterThan(0);
    await driver.kill(taskId, slaveId, 0, 1);
    await until(taskId, 'TASK_KILLED');
    expect(await driver.statistics(taskId, slaveId)).toBeUndefined();
  });

  test('a plain command in one pod with a sidecar is checked by a command, and ended by the signal of its deploy', async () => {
    const notes = (signal: string) => `trap 'echo ${signal}; exit 0' ${signal}`;
    const script = `${['INT', 'TERM'].map(notes).join('; ')}; echo began; while :; do sleep 0.1; done`;
    const line = (value: string) => ({ shell: true, value, arguments: [] });
    const beside = { name: 'beside', command: line("trap 'exit 0' TERM; sleep 600 & wait"), environment: {} };
    const taskId = await launch(script, {
      killSignal: 'SIGINT',
      killGraceMillis: 60_000,
      preStop: { command: 'cat stdout >stopping', timeoutMillis: 10_000 },
      programs: { init: [], sidecars: [{ ...beside, cpus: 0.1, memoryMb: 32 }], post: [] },
    });
    await waitFor('its begin', async () => (await textOf(taskId, 'stdout')) === 'began\n', slow);
    const check = (command: string) =>
      driver.runCheck({ taskId, command, timeoutMillis: 20_000, maxOutputBytes: 1_000 }, slaveId, 1);
    expect(await check('echo >own; ls own; exit 3')).toEqual({ outcome: 'ENDED', exitCode: 3, output: 'own\n' });
    expect(await driver.kill(taskId, slaveId, 60_000, 1)).toBe('KILLING');
    await until(taskId, 'TASK_KILLED');
    await waitFor('what it printed', async () => (await textOf(taskId, 'stdout')) === 'began\nINT\n', slow);
    expect((await (await driver.sandbox(taskId, slaveId))!.list(''))!.map(({ name }) => name)).toContain('stopping');
    expect(
      seen.updates.filter(({ taskId: of, program }) => of === taskId && program?.name === 'beside').at(-1),
    ).toMatchObject({ program: { state: 'SUCCEEDED', starts: 1, exitCode: 0 } });
  });

  test('without its agent a node takes no task, and those that run go on and end', async () => {
    const [ended, running] = [await launch('echo hello'), await launch("trap 'exit 0' TERM; sleep 600 & wait")];
    await until(ended, 'TASK_FINISHED');
    await until(running, 'TASK_RUNNING');
    const back = await lab.agents!.takeAway();
    await waitFor('it to be seen', () => driver.machines()[0]?.closedBecause === 'its agent is not ready', slow);
    expect(await driver.launch([specOf('true')], 1)).toMatchObject([{ outcome: 'UNKNOWN' }]);
    // By the API server, once the pod of the agent is gone.
    const text = () => textOf(ended, 'stdout').catch(() => undefined);
    await waitFor('what it printed', async () => (await text()) === 'hello\n', slow);
    await expect(driver.sandbox('request-deploy-1-1-host-rack', slaveId)).rejects.toThrow(MachineUnreachableError);
    expect(await driver.kill(running, slaveId, 1_000, 1)).toBe('KILLING');
    await until(running, 'TASK_KILLED');
    await back();
    await waitFor('it to be open', () => driver.machines()[0]?.closedBecause === undefined, slow);
    await until(await launch('true'), 'TASK_FINISHED');
    expect(await textOf(ended, 'stdout')).toBe('hello\n');
  });

  test('where nodes have none, what a task prints is read by the API server, and the rest is missing', async () => {
    const settings = lab.settings({ agents: undefined, installation: 'bare' });
    // Another installation has a lease that the rights of this one do not name.
    const { driver: bare, seen: told } = await lead({ ...settings, kubeconfig: lab.adminConfig });
    try {
      const spec = specOf('echo hello; echo x >file');
      expect(await bare.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED' }]);
      await until(spec.taskId, 'TASK_FINISHED', told);
      const sandbox = (await bare.sandbox(spec.taskId, slaveId))!;
      expect((await sandbox.list(''))!.map(({ name }) => name)).toEqual(['stdout']);
      expect((await sandbox.read('stdout', 0, 100))!.data.toString()).toBe('hello\n');
      expect(await bare.statistics(spec.taskId, slaveId)).toBeUndefined();
      expect(await bare.machineUsage(slaveId)).toBeUndefined();
      const order = { taskId: spec.taskId, name: 'ls', timestamp: 1, options: [] };
      expect(await bare.runCommand(order, slaveId, 1)).toBe('GONE');
    } finally {
      await bare.close();
    }
  });
});
