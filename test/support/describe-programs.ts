import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ClusterDriver, ProgramReport } from '../../src/cluster/cluster-driver.js';
import type { LaunchSpec, ProgramsOfLaunch } from '../../src/core/model/launch.js';
import type { DriverHarness, TaskKind } from './describe-cluster-driver.js';
import { EventRecorder } from './event-recorder.js';

/** A line that every cluster of these tests understands: it ends by itself, or runs until it is told to end. */
const lineOf = (exit: number | 'RUNS'): string =>
  exit === 'RUNS' ? "trap 'exit 0' TERM; while :; do sleep 0.1; done" : `exit ${exit}`;
const commandOf = (exit: number | 'RUNS') => ({ shell: true, value: lineOf(exit), arguments: [] });
const step = (name: string, exit: number | 'RUNS') => ({
  name,
  command: commandOf(exit),
  environment: {},
  timeoutMillis: 300_000,
});
const sidecar = (name: string, exit: number | 'RUNS') => ({
  name,
  command: commandOf(exit),
  environment: {},
  cpus: 0.1,
  memoryMb: 32,
});

/** Exit code of such a line; undefined: it runs until it is told to end. For clusters that run nothing really. */
export const exitCodeOfLine = (value: string): number | undefined => {
  const [, code] = /^exit (\d+)$/.exec(value) ?? [];
  return code === undefined ? undefined : Number(code);
};

/** Tests of what every driver promises of programs around the main one of a task. */
export function describePrograms(name: string, factory: () => Promise<DriverHarness>): void {
  describe(`programs around the main one: ${name}`, () => {
    let harness: DriverHarness;
    let driver: ClusterDriver;
    let seen: EventRecorder;
    let count = 0;

    beforeEach(async () => {
      harness = await factory();
      ({ driver, seen } = await lead(1));
    });
    afterEach(() => harness.close());

    async function lead(epoch: number, recorder = new EventRecorder()) {
      const leader = harness.driver();
      await leader.start(epoch, recorder, recorder.appliedUpdate);
      await harness.until('the first machine', () => recorder.slaves.size > 0);
      return { driver: leader, seen: recorder };
    }

    async function launch(kind: TaskKind, programs: Partial<ProgramsOfLaunch>): Promise<LaunchSpec> {
      const taskId = `request-around-${Date.now()}-${++count}-host-rack`;
      const own = harness.launchOf(kind, taskId, seen.onlyIncarnation());
      const spec = { ...own, programs: { init: [], sidecars: [], post: [], ...programs } };
      expect(await driver.launch([spec], 1)).toMatchObject([{ taskId, outcome: 'ACCEPTED' }]);
      return spec;
    }
    const untilState = (spec: LaunchSpec, state: string, recorder = seen) =>
      harness.until(`${state} of ${spec.taskId} (${recorder.statesOf(spec.taskId).join()})`, () =>
        recorder.statesOf(spec.taskId).includes(state),
      );
    const newest = ({ taskId }: LaunchSpec, program: string, recorder = seen): ProgramReport | undefined =>
      recorder.updates.findLast((update) => update.taskId === taskId && update.program?.name === program)?.program;
    const untilProgram = (spec: LaunchSpec, program: string, holds: (report: ProgramReport) => boolean) =>
      harness.until(`${program} of ${spec.taskId}: ${JSON.stringify(newest(spec, program))}`, () => {
        const report = newest(spec, program);
        return report !== undefined && holds(report);
      });
    const end = ({ taskId }: LaunchSpec, recorder = seen) =>
      recorder.updates.findLast((update) => update.taskId === taskId && !update.program)?.message ?? '';

    test('init steps run before, sidecars beside and post steps after the main program', async () => {
      const spec = await launch(
        { exit: 0 },
        { init: [step('one', 0), step('two', 0)], sidecars: [sidecar('beside', 'RUNS')], post: [step('last', 0)] },
      );
      await untilState(spec, 'TASK_FINISHED');
      const states = seen.statesOf(spec.taskId);
      expect(states.filter((state) => state !== 'TASK_KILLING')).toEqual([
        'TASK_STARTING',
        'TASK_RUNNING',
        'TASK_FINISHED',
      ]);
      expect(harness.starts(spec.taskId)).toBe(1);
      for (const [program, role] of [
        ['one', 'INIT'],
        ['two', 'INIT'],
        ['beside', 'SIDECAR'],
        ['last', 'POST'],
      ] as const)
        expect(newest(spec, program)).toMatchObject({ role, state: 'SUCCEEDED', starts: 1 });
    });

    test('an init step that fails is the end of the task: nothing else of it runs', async () => {
      const spec = await launch(
        { exit: 0 },
        { init: [step('one', 3), step('two', 0)], sidecars: [sidecar('beside', 'RUNS')], post: [step('last', 0)] },
      );
      await untilState(spec, 'TASK_FAILED');
      expect(end(spec)).toBe('Init step one ended with exit code 3');
      expect(newest(spec, 'one')).toMatchObject({ state: 'FAILED', exitCode: 3 });
      expect([newest(spec, 'two'), newest(spec, 'beside'), newest(spec, 'last')]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      expect(harness.starts(spec.taskId)).toBe(0);
    });

    test('a kill during an init step ends the task before its main program', async () => {
      const spec = await launch({ exit: 0 }, { init: [step('long', 'RUNS')], post: [step('last', 0)] });
      await untilProgram(spec, 'long', ({ state }) => state === 'RUNNING');
      expect(await driver.kill(spec.taskId, spec.slaveId, 10_000, 1)).toBe('KILLING');
      await untilState(spec, 'TASK_KILLED');
      await harness.pause();
      expect([harness.starts(spec.taskId), newest(spec, 'last')]).toEqual([0, undefined]);
    });

    test('a sidecar that ends is started again, and the main program runs on', async () => {
      const spec = await launch('RUNS', { sidecars: [sidecar('short', 4), sidecar('beside', 'RUNS')] });
      await untilState(spec, 'TASK_RUNNING');
      await untilProgram(spec, 'short', ({ starts }) => starts >= 2);
      expect(newest(spec, 'beside')).toMatchObject({ state: 'RUNNING', starts: 1 });
      expect(seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING']);
      expect(harness.starts(spec.taskId)).toBe(1);
    });

    test('a kill ends main program and sidecars, and post steps run', async () => {
      const spec = await launch('RUNS', { sidecars: [sidecar('beside', 'RUNS')], post: [step('last', 0)] });
      await untilState(spec, 'TASK_RUNNING');
      await harness.until('its start', () => harness.starts(spec.taskId) === 1);
      expect(await driver.kill(spec.taskId, spec.slaveId, 30_000, 1)).toBe('KILLING');
      await untilState(spec, 'TASK_KILLED');
      expect(newest(spec, 'last')).toMatchObject({ state: 'SUCCEEDED', starts: 1 });
      expect(newest(spec, 'beside')).toMatchObject({ starts: 1 });
    });

    test('a post step that fails is told, and changes nothing of the result', async () => {
      const spec = await launch({ exit: 0 }, { post: [step('one', 5), step('two', 0)] });
      await untilState(spec, 'TASK_FINISHED');
      expect(end(spec)).toContain('post step one ended with exit code 5');
      expect(newest(spec, 'one')).toMatchObject({ state: 'FAILED', exitCode: 5 });
      expect(newest(spec, 'two')).toMatchObject({ state: 'SUCCEEDED' });
    });

    test('a leader that follows learns the rest, and nothing is started twice', async () => {
      const spec = await launch('RUNS', {
        init: [step('one', 0)],
        sidecars: [sidecar('beside', 'RUNS')],
        post: [step('last', 0)],
      });
      await untilState(spec, 'TASK_RUNNING');
      await harness.until('its start', () => harness.starts(spec.taskId) === 1);
      await driver.stop();
      const next = await lead(2, seen.copy());
      await next.driver.kill(spec.taskId, spec.slaveId, 30_000, 2);
      await untilState(spec, 'TASK_KILLED', next.seen);
      for (const program of ['one', 'beside', 'last'])
        expect(newest(spec, program, next.seen)).toMatchObject({ starts: 1 });
      expect(harness.starts(spec.taskId)).toBe(1);
    });
  });
}
