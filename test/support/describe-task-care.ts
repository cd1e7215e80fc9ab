import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ClusterDriver, StaleEpochError, type TaskCheck } from '../../src/cluster/cluster-driver.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import { killSignals } from '../../src/core/model/enums.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import type { DriverHarness, TaskKind } from './describe-cluster-driver.js';
import { EventRecorder } from './event-recorder.js';
import { waitFor } from './wait-for.js';

/**
 * SIGNALS: its tasks are no processes, so nobody can send them a signal, nor ask them to prepare for it. FORCE: what ends its tasks always
 * asks them first, and gives them a second or two. FENCE: its machines hear of a new leader a moment after it has begun.
 */
type Lack = 'SIGNALS' | 'FORCE' | 'FENCE';

/**
 * Promises of every driver about tasks that run: checks by a command, once and again, and how a task ends. What a driver does not do it
 * refuses by the name of the field. Checks by HTTP, TCP and gRPC, and decisions about unhealthy tasks, are made by the leader alone.
 */
export function describeTaskCare(
  name: string,
  factory: () => Promise<DriverHarness>,
  lacks: readonly Lack[] = [],
): void {
  describe(`care of tasks: ${name}`, () => {
    let harness: DriverHarness;
    let driver: ClusterDriver;
    let seen: EventRecorder;
    let count = 0;

    beforeEach(async () => {
      harness = await factory();
      driver = harness.driver();
      seen = new EventRecorder();
      await driver.start(1, seen, seen.appliedUpdate);
      await harness.until('the first machine', () => seen.slaves.size > 0);
    });
    afterEach(() => harness.close());

    const untilState = (spec: LaunchSpec, state: string) =>
      harness.until(`${state} of ${spec.taskId}`, () => seen.statesOf(spec.taskId).includes(state));
    /** A task that has begun its work. */
    async function running(kind: TaskKind, changes: Partial<LaunchSpec> = {}): Promise<LaunchSpec> {
      const taskId = `care-deploy-${Date.now()}-${++count}-host-rack`;
      const spec = { ...harness.launchOf(kind, taskId, seen.onlyIncarnation()), ...changes };
      expect(await driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED' }]);
      await untilState(spec, 'TASK_RUNNING');
      await harness.until(`the first act of ${taskId}`, () => harness.starts(taskId) === 1);
      return spec;
    }
    /** Unknown is the answer of a machine that is too busy; the scheduler asks again. */
    const kill = (spec: LaunchSpec, graceMillis: number) =>
      waitFor('the kill to be taken', async () => {
        const answer = await driver.kill(spec.taskId, spec.slaveId, graceMillis, 1);
        return answer !== 'UNKNOWN' && answer;
      });
    async function notedUntilEnd(spec: LaunchSpec, graceMillis: number): Promise<string[]> {
      await kill(spec, graceMillis);
      await untilState(spec, 'TASK_KILLED');
      return harness.noted!(spec.taskId);
    }
    const refuses = (deploy: Partial<Deploy>, field: string): boolean =>
      (driver.unsupportedInDeploy?.({ requestId: 'r', id: 'd', command: 'c', ...deploy }) ?? []).some(
        (problem) => problem.field === field,
      );

    describe('a check by a command', () => {
      const isRefused = () => refuses({ healthcheck: { type: 'COMMAND', command: 'true' } }, 'healthcheck.type');
      const check = ({ taskId, slaveId }: LaunchSpec, command: string, changes: Partial<TaskCheck> = {}) =>
        driver.runCheck!({ taskId, command, timeoutMillis: 20_000, maxOutputBytes: 1_000, ...changes }, slaveId, 1);

      test('is run, or a deploy that asks for it is refused by name', () =>
        expect(isRefused()).toBe(driver.runCheck === undefined));

      test('ends with its exit code and its output', async ({ skip }) => {
        if (isRefused()) return skip();
        const spec = await running('RUNS');
        expect(await check(spec, 'exit 0')).toMatchObject({ outcome: 'ENDED', exitCode: 0 });
        const failed = await check(spec, 'echo said; exit 3');
        expect(failed).toMatchObject({ outcome: 'ENDED', exitCode: 3, output: expect.stringContaining('said') });
      });

      test('that takes too long fails, and the next one is run', async ({ skip }) => {
        if (isRefused()) return skip();
        const spec = await running('RUNS');
        expect(await check(spec, 'sleep 600', { timeoutMillis: 300 })).toMatchObject({ outcome: 'FAILED' });
        expect(await check(spec, 'exit 0')).toMatchObject({ outcome: 'ENDED', exitCode: 0 });
      });

      test('is made again and again, as liveness does, and changes nothing about the task', async ({ skip }) => {
        if (isRefused()) return skip();
        const spec = await running('RUNS');
        const told = seen.updates.length;
        for (const exitCode of [0, 1, 0, 1, 1, 0])
          expect(await check(spec, `exit ${exitCode}`)).toMatchObject({ outcome: 'ENDED', exitCode });
        await harness.pause();
        expect([seen.updates.length, harness.starts(spec.taskId)]).toEqual([told, 1]);
      });

      test('finds no task that has ended, and none that was never there', async ({ skip }) => {
        if (isRefused()) return skip();
        const spec = await running('RUNS');
        await kill(spec, 0);
        await untilState(spec, 'TASK_KILLED');
        expect(await check(spec, 'exit 0')).toMatchObject({ outcome: 'GONE' });
        expect(await check({ ...spec, taskId: 'nobody' }, 'exit 0')).toMatchObject({ outcome: 'GONE' });
      });

      test('of a leader that no longer leads is refused', async ({ skip }) => {
        if (isRefused()) return skip();
        const spec = await running('RUNS');
        const successor = harness.driver();
        const news = seen.copy();
        await successor.start(2, news, news.appliedUpdate);
        const isRefusedNow = () =>
          check(spec, 'exit 0').then(
            () => false,
            (cause) => cause instanceof StaleEpochError,
          );
        if (lacks.includes('FENCE')) return void (await waitFor('the machine to hear of it', isRefusedNow));
        expect(await isRefusedNow()).toBe(true);
      });
    });

    describe('the end of a task', () => {
      test('comes when it ignores its signal and its grace is over', async () => {
        const spec = await running('RUNS_AND_IGNORES_SIGTERM');
        expect(await kill(spec, 300)).toBe('KILLING');
        await untilState(spec, 'TASK_KILLED');
      });

      test.skipIf(lacks.includes('SIGNALS'))('is asked for by SIGTERM, and awaited', async () => {
        expect(await notedUntilEnd(await running('RUNS_AND_NOTES_SIGNALS'), 60_000)).toEqual(['TERM']);
      });

      test.skipIf(lacks.includes('SIGNALS')).each(killSignals.filter((signal) => signal !== 'SIGTERM'))(
        'is asked for by %s where its deploy says so, or the deploy is refused by name',
        async (killSignal) => {
          if (refuses({ killSignal }, 'killSignal')) return;
          const noted = await notedUntilEnd(await running('RUNS_AND_NOTES_SIGNALS', { killSignal }), 60_000);
          expect(noted).toEqual([killSignal.slice('SIG'.length)]);
        },
      );

      describe.skipIf(lacks.includes('SIGNALS'))('with preStop', () => {
        const preStop = (command: string) => ({ killGraceMillis: 60_000, preStop: { command, timeoutMillis: 30_000 } });

        test('is asked for after that, which has the variables of the task', async () => {
          const spec = await running('RUNS_AND_NOTES_SIGNALS', preStop('echo "$OWN_NAME" >>"$NOTES"'));
          expect(await notedUntilEnd(spec, 60_000)).toEqual([spec.taskId, 'TERM']);
        });

        test('is asked for when that fails', async () => {
          const spec = await running('RUNS_AND_NOTES_SIGNALS', preStop('echo fails >>"$NOTES"; exit 3'));
          expect(await notedUntilEnd(spec, 60_000)).toEqual(['fails', 'TERM']);
        });

        test('is asked for when that takes too long', async () => {
          const spec = await running('RUNS_AND_NOTES_SIGNALS', {
            killGraceMillis: 60_000,
            preStop: { command: 'echo waits >>"$NOTES"; exec sleep 600', timeoutMillis: 300 },
          });
          expect(await notedUntilEnd(spec, 60_000)).toEqual(['waits', 'TERM']);
        });

        test('does not wait for that by force', async () => {
          const spec = await running('RUNS', preStop('exec sleep 600'));
          expect(await kill(spec, 0)).toBe('KILLING');
          await untilState(spec, 'TASK_KILLED');
        });

        test.skipIf(lacks.includes('FORCE'))('comes by force without that', async () => {
          const spec = await running('RUNS_AND_NOTES_SIGNALS', preStop('echo stops >>"$NOTES"'));
          expect(await notedUntilEnd(spec, 0)).toEqual([]);
        });
      });
    });
  });
}
