import { describe, expect, test } from 'vitest';
import type {
  TaskId,
  TaskShellCommandHistory,
  TaskShellCommandRequest,
  TaskShellCommandUpdate,
} from '../../src/core/model/task.js';
import { waitFor } from '../support/wait-for.js';
import type { Operations } from './operations.js';
import { refusalsOf, unknownTaskId } from './running-tasks.js';

/** `one`: a running task, for one test. The command 'flags' prints its options. */
export function describeShellCommands(operations: Operations, one: () => TaskId): void {
  const refused = refusalsOf(operations);

  describe('a shell command', () => {
    const run = 'POST /api/tasks/task/{taskId}/command';
    const ofTask = 'GET /api/tasks/task/{taskId}/command';
    const order = { name: 'flags', options: ['all'], user: 'me', logfileName: 'mine' };
    const updatesOf = (taskId: string, { timestamp, shellCommand }: TaskShellCommandRequest) => {
      const params = { taskId, commandName: shellCommand.name, commandTimestamp: String(timestamp) };
      const show = 'GET /api/tasks/task/{taskId}/command/{commandName}/{commandTimestamp}';
      return operations.call<TaskShellCommandUpdate[]>(show, 200, { params });
    };

    test('waits while its machine is silent, then runs, and all that became of it is shown', async () => {
      const params = { taskId: one().id };
      const agent = operations.installation.agentPid();
      let sent: TaskShellCommandRequest;
      process.kill(agent, 'SIGSTOP');
      try {
        sent = await operations.call<TaskShellCommandRequest>(run, 200, { params, body: order });
        expect(sent).toMatchObject({ taskId: { id: params.taskId }, shellCommand: order });
        expect(await operations.call('GET /api/tasks/commands/queued', 200)).toEqual([sent]);
        expect(await updatesOf(params.taskId, sent)).toEqual([]);
      } finally {
        process.kill(agent, 'SIGCONT');
      }
      const updates = await waitFor('the end of the command', async () => {
        const found = await updatesOf(params.taskId, sent);
        return found.at(-1)?.updateType === 'FINISHED' && found;
      });
      expect(updates.map(({ updateType }) => updateType)).toEqual(['ACKED', 'STARTED', 'FINISHED']);
      expect(updates[0]).toMatchObject({ shellRequestId: { name: 'flags', timestamp: sent.timestamp } });
      const path = `sandbox/${params.taskId}/read?offset=0&path=${updates.at(-1)?.outputFilename}`;
      expect(await operations.api.get(path)).toMatchObject({ data: expect.stringMatching(/\n\[-a\]$/) });
      expect(await operations.call<TaskShellCommandHistory[]>(ofTask, 200, { params })).toEqual([
        { shellRequest: sent, shellUpdates: updates },
      ]);
      await waitFor('the queue to be empty', async () => {
        const queued = await operations.call<unknown[]>('GET /api/tasks/commands/queued', 200);
        return queued.length === 0;
      });
    });

    test('is 403 when there is none of its name, 400 for an unknown option, a task that is not active, or no name', async () => {
      const params = { taskId: one().id };
      expect(await refused(run, 403, { params, body: { name: 'rm' } })).toContain("'rm'");
      expect(await refused(run, 400, { params, body: { name: 'flags', options: ['none'] } })).toContain("'none'");
      expect(await refused(run, 400, { params, body: {} })).toContain('name');
      expect(await refused(run, 400, { params: { taskId: unknownTaskId }, body: order })).toContain('not active');
      expect(await operations.call(ofTask, 200, { params })).toEqual([]);
      expect(await operations.call(ofTask, 200, { params: { taskId: unknownTaskId } })).toEqual([]);
    });
  });
}
