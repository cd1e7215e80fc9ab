import type { LiveEvent, WrittenEvent } from '../model/event.js';
import { parseTaskId } from '../task-id.js';

/** As it is told: an event of a task names its request and its deploy, too. */
export function publishedEvent(written: WrittenEvent): LiveEvent {
  if (written.type !== 'TASK') return written;
  const { type, at, taskId, ...rest } = written;
  // Task ids are made by this service, so each can be read; one that cannot be is of a request that no caller may read.
  const { requestId, deployId } = parseTaskId(taskId) ?? { requestId: '', deployId: '' };
  return { type, at, requestId, deployId, taskId, ...rest };
}

/** The request whose readers may hear of it; undefined: it is about the whole cluster. */
export const requestOf = (event: LiveEvent): string | undefined => ('requestId' in event ? event.requestId : undefined);
