import { describe, expect, test } from 'vitest';
import type { KilledTaskIdRecord, TaskCleanup, TaskId } from '../../src/core/model/task.js';
import { waitFor } from '../support/wait-for.js';
import type { Operations } from './operations.js';
import { idsOf, jobs, refusalsOf } from './running-tasks.js';

/** `one`: a running task of the service 'pool', for one test. The command 'hold' runs until the task ends. */
export function describeKills(operations: Operations, one: () => TaskId): void {
  const refused = refusalsOf(operations);

  describe('a kill', () => {
    const kill = 'DELETE /api/tasks/task/{taskId}';
    const cleanings = () =>
      operations.call<TaskCleanup[]>('GET /api/tasks/cleaning', 200, { query: { useWebCache: true } });

    test('runs its command first, stands in the way of a second one, and gives way to override', async () => {
      const params = { taskId: one().id };
      const order = { message: 'out', actionId: 'a1', runShellCommandBeforeKill: { name: 'hold' } };
      const cleanup = await operations.call<TaskCleanup>(kill, 200, { params, body: order });
      expect(cleanup).toMatchObject({ cleanupType: 'USER_REQUESTED', message: 'out', actionId: 'a1' });
      expect(cleanup.runBeforeKillId).toMatchObject({ name: 'hold', taskId: { id: params.taskId } });
      expect(await cleanings()).toContainEqual(cleanup);
      expect(await operations.call('GET /api/tasks/task/{taskId}/cleanup', 200, { params })).toEqual(cleanup);
      expect(await operations.call(kill, 409, { params, body: { override: false } })).toMatchObject({ cleanup });

      const forced = await operations.call<TaskCleanup>(kill, 200, { params, body: { override: true } });
      expect(forced.cleanupType).toBe('USER_REQUESTED_DESTROY');
      await waitFor('the end of the task', () => operations.call('GET /api/tasks/task/{taskId}', 404, { params }));
      expect(idsOf(await cleanings())).not.toContain(params.taskId);
      await operations.call(kill, 404, { params });
      expect((await operations.api.history(params.taskId)).taskUpdates.at(-1)?.taskState).toBe('TASK_KILLED');
    });

    test('that was sent is listed until the task ends', async () => {
      // A job: nothing replaces it.
      await jobs(operations.api, { id: 'stubborn' }, { command: 'trap "" TERM; sleep 600 & wait' });
      await operations.api.post('requests/request/stubborn/run');
      const [task] = await operations.api.running('stubborn', 1);
      const params = { taskId: task!.taskId.id };
      const cleanup = await operations.call<TaskCleanup>(kill, 200, { params });
      const record = await waitFor('the kill', async () => {
        const records = await operations.call<KilledTaskIdRecord[]>('GET /api/tasks/killed', 200);
        return records.find(({ taskId }) => taskId.id === params.taskId);
      });
      expect(record).toMatchObject({ taskId: task!.taskId, taskCleanupType: 'USER_REQUESTED', retries: 0 });
      expect(record.originalTimestamp).toBeGreaterThanOrEqual(cleanup.timestamp);
      await operations.call(kill, 200, { params, body: { override: true } });
      await waitFor('the end of the task', async () => {
        const records = await operations.call<KilledTaskIdRecord[]>('GET /api/tasks/killed', 200);
        return !idsOf(records).includes(params.taskId);
      });
    });

    test('that waits for a replacement ends the task when the new one is healthy', async () => {
      const { id, instanceNo } = one();
      const body = { waitForReplacementTask: true, message: 'a fresh one' };
      const cleanup = await operations.call<TaskCleanup>(kill, 200, { params: { taskId: id }, body });
      expect(cleanup).toMatchObject({ cleanupType: 'USER_REQUESTED_TASK_BOUNCE', message: 'a fresh one' });
      const task = await waitFor('the new task in the place of the old one', async () => {
        const tasks = await operations.api.activeTasks('pool');
        return !idsOf(tasks).includes(id) && tasks.find(({ taskId }) => taskId.instanceNo === instanceNo);
      });
      expect(task.taskRequest.pendingTask).toMatchObject({
        pendingTaskId: { pendingType: 'TASK_BOUNCE' },
        message: 'a fresh one',
      });
    });

    test('is refused while its action is off, and for a command that is not configured', async () => {
      const params = { taskId: one().id };
      await operations.api.post('disasters/disabled-actions/KILL_TASK', { message: 'not today' });
      expect(await refused(kill, 409, { params })).toContain('not today');
      await operations.api.call('DELETE', 'disasters/disabled-actions/KILL_TASK');
      const asking = (name: string, options: string[]) => ({ runShellCommandBeforeKill: { name, options } });
      expect(await refused(kill, 403, { params, body: asking('rm', []) })).toContain('runShellCommandBeforeKill.name');
      expect(await refused(kill, 400, { params, body: asking('flags', ['none']) })).toContain('options');
      expect(await refused(kill, 400, { params, body: { override: 'yes' } })).toContain('override');
      await operations.call('GET /api/tasks/task/{taskId}/cleanup', 404, { params });
    });
  });
}
