import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ClusterDriver,
  type LaunchAnswer,
  type ShellCommandOrder,
  StaleEpochError,
} from '../../src/cluster/cluster-driver.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { EventRecorder } from './event-recorder.js';
import { waitFor } from './wait-for.js';

/** Behaviour of a task of these tests. */
export type TaskKind =
  { exit: number; prints?: string } | 'RUNS' | 'RUNS_AND_IGNORES_SIGTERM' | 'RUNS_AND_NOTES_SIGNALS';

/** One cluster with at least one machine, for one test. */
export interface DriverHarness {
  /** A scheduler's driver on the cluster. Called again: the same after a restart, or a rival. */
  driver(): ClusterDriver;
  /** A launch of a task of this kind on the cluster's first machine. */
  launchOf(kind: TaskKind, taskId: string, incarnation: string): LaunchSpec;
  /** An order of a command that ends by itself, or of one that does not. Absent, and the next, where the cluster has none. */
  commandOf?(kind: 'ENDS' | 'RUNS', taskId: string): ShellCommandOrder;
  /** Number of times the task was really started. */
  starts(taskId: string): number;
  /** Signals that a task has noted, such as TERM, with which it ended, and lines of its preStop; absent: its tasks are no processes. */
  noted?(taskId: string): string[];
  /** A port of the first machine that something else listens on until `free` is called. */
  occupyPort?(): Promise<{ port: number; free(): Promise<void> }>;
  /** Lets time pass until the condition holds; fails, naming `what`, when it does not. */
  until(what: string, condition: () => boolean): Promise<void>;
  /** Lets enough time pass for anything that is under way to happen. */
  pause(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Features that a cluster may lack: COMMANDS in tasks, FIGURES of what they use, PORTS of other programs, which it
 * cannot see before a task is started, a SHORTER_GRACE than that of a kill which is under way, and FILES of tasks.
 */
type Lack = 'FILES' | 'COMMANDS' | 'FIGURES' | 'PORTS' | 'SHORTER_GRACE';

/** Tests of the promises of every driver to the scheduler, whatever stands behind it. */
export function describeClusterDriver(
  name: string,
  factory: () => Promise<DriverHarness>,
  lacks: readonly Lack[] = [],
): void {
  describe(`cluster driver: ${name}`, () => {
    let harness: DriverHarness;
    let driver: ClusterDriver;
    let seen: EventRecorder;
    let incarnation: string;
    let count = 0;

    beforeEach(async () => {
      harness = await factory();
      ({ driver, seen } = await lead(1));
      incarnation = seen.onlyIncarnation();
    });
    afterEach(() => harness.close());

    async function lead(epoch: number, recorder = new EventRecorder()) {
      const leader = harness.driver();
      await leader.start(epoch, recorder, recorder.appliedUpdate);
      await harness.until('the first machine', () => recorder.slaves.size > 0);
      return { driver: leader, seen: recorder };
    }
    const newTaskId = () => `request-deploy-${Date.now()}-${++count}-host-rack`;
    const launchOf = (kind: TaskKind, taskId = newTaskId()) => harness.launchOf(kind, taskId, incarnation);
    async function launch(kind: TaskKind): Promise<LaunchSpec> {
      const spec = launchOf(kind);
      expect(await driver.launch([spec], 1)).toMatchObject([{ taskId: spec.taskId, outcome: 'ACCEPTED' }]);
      return spec;
    }
    const untilState = (spec: LaunchSpec, state: string, recorder = seen) =>
      harness.until(`${state} of ${spec.taskId}`, () => recorder.statesOf(spec.taskId).includes(state));
    /** TASK_RUNNING tells that the program has begun; its first act, to write that down, comes a moment later. */
    const untilStarted = (spec: LaunchSpec) =>
      harness.until(`the first act of ${spec.taskId}`, () => harness.starts(spec.taskId) === 1);
    /** Updates are numbered without gaps, or not at all: then the states alone tell what is new. */
    const expectNumbers = (recorder = seen) => {
      const numbers = recorder.updates.map((update) => update.number);
      expect(numbers).toEqual(numbers.map((number, index) => (number === 0 ? 0 : index + 1)));
    };
    const outcomes = (answers: readonly LaunchAnswer[]) => answers.map((answer) => answer.outcome);

    test('tells its machines with an incarnation', () => {
      const [machine] = driver.machines();
      expect(machine).toEqual(expect.objectContaining({ slaveId: launchOf('RUNS').slaveId, incarnation }));
      expect(machine?.cpus).toBeGreaterThan(0);
      expect(machine?.portRanges.length).toBeGreaterThan(0);
    });

    test('reports a life in order', async () => {
      const spec = await launch({ exit: 0 });
      await untilState(spec, 'TASK_FINISHED');
      expect(seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
      expectNumbers();
      expect(seen.updates[0]).toMatchObject({ slaveId: spec.slaveId, incarnation, directory: expect.any(String) });
    });

    test.each([
      { exit: 0, successful: [], state: 'TASK_FINISHED' },
      { exit: 3, successful: [], state: 'TASK_FAILED' },
      { exit: 3, successful: [3, 4], state: 'TASK_FINISHED' },
      { exit: 0, successful: [3, 4], state: 'TASK_FAILED' },
    ])('exit code $exit with successful codes $successful is $state', async ({ exit, successful, state }) => {
      const spec = { ...launchOf({ exit }), successfulExitCodes: successful };
      await driver.launch([spec], 1);
      await untilState(spec, state);
    });

    test('starts a task once, however often and in whatever state it is asked for', async () => {
      const spec = launchOf('RUNS');
      expect(outcomes(await driver.launch([spec, spec], 1))).toEqual(['ACCEPTED', 'ACCEPTED']);
      await untilState(spec, 'TASK_RUNNING');
      expect(await driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: 'TASK_RUNNING' }]);
      await untilStarted(spec);
      await driver.kill(spec.taskId, spec.slaveId, 0, 1);
      await untilState(spec, 'TASK_KILLED');
      await harness.pause();
      expect(await driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: 'TASK_KILLED' }]);
      await harness.pause();
      expect(harness.starts(spec.taskId)).toBe(1);
    });

    test('kills a running task', async () => {
      const spec = await launch('RUNS');
      await untilState(spec, 'TASK_RUNNING');
      expect(await driver.kill(spec.taskId, spec.slaveId, 60_000, 1)).toBe('KILLING');
      await untilState(spec, 'TASK_KILLED');
      expect(await driver.kill(spec.taskId, spec.slaveId, 60_000, 1)).toBe('GONE');
    });

    test.skipIf(lacks.includes('SHORTER_GRACE'))(
      'a second kill shortens the grace of the first, and never lengthens it',
      async () => {
        const spec = await launch('RUNS_AND_IGNORES_SIGTERM');
        // Running is not yet ignoring.
        await untilState(spec, 'TASK_RUNNING');
        await untilStarted(spec);
        // Unknown is what a machine too busy to answer does with it; the scheduler asks again.
        const kill = (graceMillis: number) => driver.kill(spec.taskId, spec.slaveId, graceMillis, 1);
        await waitFor('the first kill to be taken', async () => (await kill(3_600_000)) === 'KILLING');
        await harness.pause();
        expect(seen.statesOf(spec.taskId)).not.toContain('TASK_KILLED');
        await waitFor('the second kill to be taken', async () => (await kill(0)) !== 'UNKNOWN');
        await kill(3_600_000);
        await untilState(spec, 'TASK_KILLED');
      },
    );

    test('an id that is known from another launch is refused; the same launch sent again is not', async () => {
      for (const kind of ['RUNS', { exit: 0 }] as const) {
        const spec = { ...launchOf(kind), launchId: 'first' };
        expect(outcomes(await driver.launch([spec], 1))).toEqual(['ACCEPTED']);
        await untilState(spec, kind === 'RUNS' ? 'TASK_RUNNING' : 'TASK_FINISHED');
        await untilStarted(spec);
        for (const again of ['first', undefined])
          expect(outcomes(await driver.launch([{ ...spec, launchId: again }], 1))).toEqual(['ACCEPTED']);
        expect(outcomes(await driver.launch([{ ...spec, launchId: 'second' }], 1))).toEqual(['ID_IN_USE']);
        await harness.pause();
        expect(harness.starts(spec.taskId)).toBe(1);
      }
    });

    test('a launch that comes after the kill of its id starts nothing', async () => {
      const spec = launchOf('RUNS');
      expect(await driver.kill(spec.taskId, spec.slaveId, 0, 1)).toBe('GONE');
      expect(outcomes(await driver.launch([spec], 1))).toEqual(['REFUSED']);
      await harness.pause();
      expect(harness.starts(spec.taskId)).toBe(0);
      expect(seen.updates).toEqual([]);
    });

    test('a launch that was withdrawn starts nothing, however late it comes; one that came cannot be withdrawn', async () => {
      const spec = launchOf('RUNS');
      const withdraw = (...ids: string[]) => driver.withdraw(ids, spec.slaveId, 1);
      expect(await withdraw(spec.taskId)).toEqual([spec.taskId]);
      expect(outcomes(await driver.launch([spec], 1))).toEqual(['REFUSED']);
      const [running, ended] = [await launch('RUNS'), await launch({ exit: 0 })];
      await untilState(running, 'TASK_RUNNING');
      await untilState(ended, 'TASK_FINISHED');
      // Asking once more is safe.
      expect(await withdraw(running.taskId, spec.taskId, ended.taskId)).toEqual([spec.taskId]);
      expect([harness.starts(spec.taskId), seen.statesOf(spec.taskId)]).toEqual([0, []]);
      expect(seen.statesOf(running.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING']);
    });

    test('refuses a launch meant for another incarnation', async () => {
      const spec = { ...launchOf('RUNS'), incarnation: 'another' };
      expect(outcomes(await driver.launch([spec], 1))).toEqual(['REFUSED']);
      await harness.pause();
      expect(harness.starts(spec.taskId)).toBe(0);
    });

    test.skipIf(lacks.includes('PORTS'))('a port that is taken refuses the launch for ever', async () => {
      const { port, free } = await harness.occupyPort!();
      const spec = { ...launchOf('RUNS'), ports: [port] };
      expect(await driver.launch([spec], 1)).toEqual([{ taskId: spec.taskId, outcome: 'PORT_IN_USE', port }]);
      await free();
      expect(await driver.launch([spec], 1)).toEqual([{ taskId: spec.taskId, outcome: 'PORT_IN_USE', port }]);
      const another = { ...launchOf('RUNS'), ports: [port] };
      expect(outcomes(await driver.launch([another], 1))).toEqual(['ACCEPTED']);
      expect(harness.starts(spec.taskId)).toBe(0);
    });

    test('answers every launch of a batch, in its order', async () => {
      const tombstoned = launchOf('RUNS');
      await driver.kill(tombstoned.taskId, tombstoned.slaveId, 0, 1);
      const batch = [launchOf('RUNS'), tombstoned, launchOf('RUNS')];
      const answers = await driver.launch(batch, 1);
      expect(answers.map((answer) => answer.taskId)).toEqual(batch.map((spec) => spec.taskId));
      expect(outcomes(answers)).toEqual(['ACCEPTED', 'REFUSED', 'ACCEPTED']);
      expect(await driver.launch([], 1)).toEqual([]);
    });

    test('an epoch that is over can do nothing any more', async () => {
      const spec = await launch('RUNS');
      await untilState(spec, 'TASK_RUNNING');
      const successor = await lead(2, seen.copy());
      const late = launchOf('RUNS');
      await expect(driver.launch([late], 1)).rejects.toThrow(StaleEpochError);
      await expect(driver.kill(spec.taskId, spec.slaveId, 0, 1)).rejects.toThrow(StaleEpochError);
      await expect(driver.reconcile(1)).rejects.toThrow(StaleEpochError);
      await expect(harness.driver().start(1, new EventRecorder(), async () => undefined)).rejects.toThrow(
        StaleEpochError,
      );
      await harness.pause();
      expect(harness.starts(late.taskId)).toBe(0);
      await successor.driver.kill(spec.taskId, spec.slaveId, 0, 2);
      await untilState(spec, 'TASK_KILLED', successor.seen);
      expect(seen.statesOf(spec.taskId)).not.toContain('TASK_KILLED');
    });

    test('a leader that only listens is told by an agent which has seen a higher epoch, and hears no more of it', async () => {
      const spec = await launch('RUNS');
      await untilState(spec, 'TASK_RUNNING');
      const successor = await lead(7, seen.copy());
      await successor.driver.kill(spec.taskId, spec.slaveId, 0, 7);
      await untilState(spec, 'TASK_KILLED', successor.seen);
      await harness.until('the news', () => seen.outrankedBy !== undefined);
      expect(seen.outrankedBy).toBe(7);
      expect(seen.statesOf(spec.taskId)).not.toContain('TASK_KILLED');
      expect(successor.seen.outrankedBy).toBeUndefined();
    });

    test('a refusal names the higher epoch, so that a leader can ask for one above it', async () => {
      await lead(9, seen.copy());
      await expect(driver.launch([launchOf('RUNS')], 1)).rejects.toMatchObject({ epoch: 1, highest: 9 });
    });

    test('repeats updates until they are stored, and tells each once then', async () => {
      seen.refuseNext(2);
      const spec = await launch({ exit: 0 });
      await untilState(spec, 'TASK_FINISHED');
      await harness.pause();
      expect(seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
      expectNumbers();
      expect(seen.refused).toBe(2);
    });

    test('after a restart tells what was not stored, and nothing else', async () => {
      const before = await launch({ exit: 0 });
      const meanwhile = await launch('RUNS');
      await untilState(before, 'TASK_FINISHED');
      await untilState(meanwhile, 'TASK_RUNNING');
      await driver.kill(meanwhile.taskId, meanwhile.slaveId, 50, 1);
      await driver.stop();
      const stored = seen.updates.length;
      await harness.pause();
      expect(seen.updates.length).toBe(stored);
      const restarted = await lead(2, seen.copy());
      await untilState(meanwhile, 'TASK_KILLED', restarted.seen);
      expectNumbers(restarted.seen);
    });

    test('an update that was stored by a scheduler that died before saying so is not told again', async () => {
      const spec = await launch({ exit: 0 });
      await untilState(spec, 'TASK_FINISHED');
      await driver.stop();
      const recorder = seen.copy();
      const restarted = await lead(2, recorder);
      await harness.pause();
      expect(restarted.seen.updates).toEqual(seen.updates);
    });

    test('lists what it holds, as of the update that told it last', async () => {
      const running = await launch('RUNS');
      await untilState(running, 'TASK_RUNNING');
      const [list] = (await driver.reconcile(1)).filter((each) => each.tasks.length > 0);
      expect(list).toMatchObject({ incarnation, tasks: [{ taskId: running.taskId, state: 'TASK_RUNNING' }] });
      expect(list?.asOfUpdate).toBe(seen.updates.at(-1)?.number);
      seen.refuseNext(Infinity);
      await driver.kill(running.taskId, running.slaveId, 0, 1);
      await harness.until('a refused end', () => seen.refused > 0);
      // Its end is not stored: it must not be missing yet.
      const [ended] = (await driver.reconcile(1)).filter((each) => each.tasks.length > 0);
      const endedAs = list?.asOfUpdate === 0 ? 0 : 3;
      expect(ended).toMatchObject({ asOfUpdate: endedAs, tasks: [{ taskId: running.taskId, state: 'TASK_KILLED' }] });
    });

    test.skipIf(lacks.includes('FILES'))('what a task has printed is read from any place in it', async () => {
      const spec = await launch({ exit: 3, prints: 'one\ntwo\n' });
      await untilState(spec, 'TASK_FAILED');
      const sandbox = (await driver.sandbox(spec.taskId, spec.slaveId))!;
      const read = async (offset: number, length: number) => {
        const found = await sandbox.read('stdout', offset, length);
        return found && { text: found.data.toString(), size: found.size };
      };
      expect(await read(0, 100)).toEqual({ text: 'one\ntwo\n', size: 8 });
      expect(await read(4, 2)).toEqual({ text: 'tw', size: 8 });
      expect(await read(8, 100)).toEqual({ text: '', size: 8 });
      expect((await sandbox.list(''))?.map(({ name }) => name)).toContain('stdout');
      expect(await sandbox.read('no-such-file', 0, 1)).toBeUndefined();
      expect(await driver.sandbox(newTaskId(), spec.slaveId)).toBeUndefined();
    });

    test.skipIf(lacks.includes('FIGURES'))('has figures of a running task only', async () => {
      const spec = await launch('RUNS');
      await untilState(spec, 'TASK_RUNNING');
      const figures = await driver.statistics(spec.taskId, spec.slaveId);
      expect(figures).toMatchObject({ taskId: spec.taskId, cpusLimit: spec.cpus });
      expect(figures?.memTotalBytes).toBeGreaterThan(0);
      expect(await driver.statistics('nobody', spec.slaveId)).toBeUndefined();
    });

    const untilCommand = (order: ShellCommandOrder, updateType: string) =>
      harness.until(`${updateType} of ${order.name}`, () => seen.commandUpdatesOf(order).includes(updateType));

    test.skipIf(lacks.includes('COMMANDS'))(
      'runs a command in a task once, however often it is asked for',
      async () => {
        const spec = await launch('RUNS');
        await untilState(spec, 'TASK_RUNNING');
        const order = harness.commandOf!('ENDS', spec.taskId);
        expect(await driver.runCommand(order, spec.slaveId, 1)).toBe('ACCEPTED');
        expect(await driver.runCommand(order, spec.slaveId, 1)).toBe('ACCEPTED');
        await untilCommand(order, 'FINISHED');
        expect(await driver.runCommand(order, spec.slaveId, 1)).toBe('ACCEPTED');
        await harness.pause();
        expect(seen.commandUpdatesOf(order)).toEqual(['ACKED', 'STARTED', 'FINISHED']);
        const [acked] = seen.updates.flatMap(({ shellCommand }) => shellCommand ?? []);
        expect(acked).toMatchObject({
          name: order.name,
          timestamp: order.timestamp,
          outputFilename: expect.any(String),
        });
        expect(seen.updates).toHaveLength(5);
        expectNumbers();
      },
    );

    test.skipIf(lacks.includes('COMMANDS'))('ends the commands of a task before it tells its end', async () => {
      const spec = await launch('RUNS');
      await untilState(spec, 'TASK_RUNNING');
      const order = harness.commandOf!('RUNS', spec.taskId);
      await driver.runCommand(order, spec.slaveId, 1);
      await untilCommand(order, 'STARTED');
      await driver.kill(spec.taskId, spec.slaveId, 0, 1);
      await untilState(spec, 'TASK_KILLED');
      expect(seen.commandUpdatesOf(order)).toEqual(['ACKED', 'STARTED', 'FAILED']);
      expect(seen.statesOf(spec.taskId).at(-1)).toBe('TASK_KILLED');
      expect(await driver.runCommand(order, spec.slaveId, 1)).toBe('ACCEPTED');
      expect(await driver.runCommand({ ...order, timestamp: order.timestamp + 1 }, spec.slaveId, 1)).toBe('GONE');
    });

    test.skipIf(lacks.includes('COMMANDS'))(
      'runs no command in a task that it does not know, and none for an epoch that is over',
      async () => {
        const spec = await launch('RUNS');
        await untilState(spec, 'TASK_RUNNING');
        expect(await driver.runCommand(harness.commandOf!('ENDS', newTaskId()), spec.slaveId, 1)).toBe('GONE');
        await lead(2, seen.copy());
        const order = harness.commandOf!('ENDS', spec.taskId);
        await expect(driver.runCommand(order, spec.slaveId, 1)).rejects.toThrow(StaleEpochError);
        await harness.pause();
        expect(seen.commandUpdatesOf(order)).toEqual([]);
      },
    );

    test.skipIf(lacks.includes('FIGURES'))(
      'tells what a machine has and uses, with the figures of its running tasks',
      async () => {
        const ended = await launch({ exit: 0 });
        const running = [await launch('RUNS'), await launch('RUNS')];
        await untilState(ended, 'TASK_FINISHED');
        for (const spec of running) await untilState(spec, 'TASK_RUNNING');
        const usage = (await driver.machineUsage(ended.slaveId))!;
        expect(usage.slaveId).toBe(ended.slaveId);
        expect(usage.tasks.map(({ taskId }) => taskId).toSorted()).toEqual(
          running.map((spec) => spec.taskId).toSorted(),
        );
        for (const figures of usage.tasks) expect(figures.memTotalBytes).toBeGreaterThan(0);
        expect(usage.cpus).toBeGreaterThan(0);
        expect(usage.memTotalBytes).toBeGreaterThan(usage.memFreeBytes);
        expect(usage.memFreeBytes).toBeGreaterThan(0);
        expect(usage.diskTotalBytes).toBeGreaterThan(usage.diskUsedBytes);
        for (const load of [usage.load1Min, usage.load5Min, usage.load15Min]) expect(load).toBeGreaterThanOrEqual(0);
        expect(usage.timestamp).toBeGreaterThan(1_600_000_000_000);
        expect(await driver.machineUsage('nobody')).toBeUndefined();
      },
    );
  });
}
