import { Injectable, Logger } from '@nestjs/common';
import { hasPassed } from '../../core/elapsed.js';
import type { PendingTask } from '../../core/model/task.js';
import type { WaitingOutcome } from '../../core/placement/index.js';
import { storableText } from '../../core/storable-text.js';
import { tellFailure } from '../../platform/tell-failure.js';

/**
 * A launch that could not be written fails by its content. An operator may have repaired the database in the meantime.
 */
const againAfterMillis = 60_000;

/** Characters of what is shown of an error. */
const longestCause = 300;

interface SetAsideTask {
  why: string;
  at: number;
}

/**
 * Pending tasks whose launch could not be put together or written, while those beside them could. They wait for a minute and hold up
 * no other. The leader's memory: `waiting_reason` tells all others, and a new leader finds out by itself.
 */
@Injectable()
export class SetAsideTasks {
  private readonly log = new Logger(SetAsideTasks.name);
  private readonly tasks = new Map<string, SetAsideTask>();

  add({ pendingTaskId: { id } }: PendingTask, cause: unknown, now: number): void {
    tellFailure(this.log, `The launch of pending task '${id}' cannot be stored; it is tried again in a minute`, cause);
    const words = cause instanceof Error ? cause.message : String(cause);
    this.tasks.set(id, { why: storableText(words.slice(0, longestCause)), at: now });
  }

  /** Causes by the ids of the tasks that are not to be tried now. */
  current(now: number): ReadonlyMap<string, string> {
    for (const [id, { at }] of this.tasks) if (hasPassed(at, againAfterMillis, now)) this.tasks.delete(id);
    return new Map([...this.tasks].map(([id, { why }]) => [id, why]));
  }

  /** The outcome of a task that was set aside. */
  outcome(pending: PendingTask): WaitingOutcome {
    const cause = this.tasks.get(pending.pendingTaskId.id)?.why ?? '';
    return { kind: 'wait', pending, why: 'CANNOT_BE_STORED', cause };
  }
}
