import type { TaskCleanup, TaskId } from 'muster-client';
import { muster } from '../api';
import { message, type Action } from './action';
import { killCommand, shellBeforeKill } from './shell-command-field';

const of = ({ id, requestId }: TaskId) => [['task', id], ['request', requestId], ['tasks']];

/** A kill waits for a replacement unless told not to; where one is under way already it can be made to go at once. */
export function killTask(taskId: TaskId, cleanup?: TaskCleanup, canBeReplaced = true): Action {
  const isUnderWay = cleanup !== undefined;
  const isDestroyed = cleanup?.cleanupType === 'USER_REQUESTED_DESTROY' || cleanup?.cleanupType === 'USER_REQUESTED';
  return {
    id: 'kill',
    label: !isUnderWay ? 'Kill' : isDestroyed ? 'Destroy' : 'Override cleanup',
    isDangerous: true,
    needs: { requestId: taskId.requestId, scope: 'WRITE' },
    explains: !isUnderWay
      ? `Ends instance ${taskId.instanceNo} of ${taskId.requestId}.`
      : isDestroyed
        ? `Ends instance ${taskId.instanceNo} without its grace.`
        : `Ends instance ${taskId.instanceNo} now, without waiting for what takes its place.`,
    fields: [
      ...(canBeReplaced && !isUnderWay
        ? [{ kind: 'check', name: 'wait', label: 'Wait until its replacement is healthy', initial: true } as const]
        : []),
      ...shellBeforeKill,
      message,
    ],
    run: (values) =>
      muster.tasks.kill({
        taskId: taskId.id,
        body: {
          message: values.text('message'),
          ...(isUnderWay ? { override: true } : { waitForReplacementTask: values.isSet('wait') }),
          ...killCommand(values),
        },
      }),
    done: `Instance ${taskId.instanceNo} of ${taskId.requestId} is being killed`,
    outdates: of(taskId),
  };
}

export const removeScheduled = (requestId: string, pendingTaskId: string): Action => ({
  id: 'remove-scheduled',
  label: 'Remove',
  needs: { requestId, scope: 'WRITE' },
  explains: 'This task is not started.',
  fields: [],
  run: () => muster.tasks.removeScheduled({ pendingTaskId }),
  done: 'It is not started',
  outdates: [['request', requestId], ['tasks']],
});
