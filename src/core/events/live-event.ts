import type { LiveEvent, WrittenEvent } from '../model/event.js';
import { parseTaskId } from '../task-id.js';

/** As it is told: an event of a task names its request and its deploy, too. */
export function publishedEvent(written: WrittenEvent): LiveEvent {
  if (written.type !== 'TASK' && written.type !== 'HEALTH') return written;
  const { at, taskId } = written;
  // Task ids are made by this service, so each can be read; one that cannot be is of a request that no caller may read.
  const { requestId, deployId } = parseTaskId(taskId) ?? { requestId: '', deployId: '' };
  const { message } = written;
  if (written.type === 'HEALTH') {
    const { eventType } = written;
    return { type: 'HEALTH', at, requestId, deployId, taskId, eventType, message };
  }
  const { taskState, reason } = written;
  return { type: 'TASK', at, requestId, deployId, taskId, taskState, message, reason };
}

/** The request whose readers may hear of it; undefined: it is about the whole cluster. */
export const requestOf = (event: LiveEvent): string | undefined => ('requestId' in event ? event.requestId : undefined);
