import { Injectable, Logger } from '@nestjs/common';
import { backOffMillis } from '../../core/back-off.js';
import { hasPassed } from '../../core/elapsed.js';
import type { PendingTask } from '../../core/model/task.js';
import type { SetAside, WaitingOutcome } from '../../core/placement/index.js';
import { storableText } from '../../core/storable-text.js';
import { tellFailure } from '../../platform/tell-failure.js';

/**
 * A launch that could not be written fails by its content. An operator may have repaired the database in the meantime.
 */
const againAfterMillis = 60_000;
/** A launch that its cluster does not admit waits for a change of the cluster, which nothing tells of. */
const firstPauseMillis = 5_000;
const longestPauseMillis = 60_000;
/** Time after which a failure does not count towards the next pause. */
const forgetAfterMillis = 600_000;

/** Characters of what is shown of an error. */
const longestCause = 1_000;

interface SetAsideTask extends SetAside {
  at: number;
  forMillis: number;
  /** Launches that were not admitted, one after the other. */
  inRow: number;
}

/**
 * Pending tasks whose launch could not be put together or written, or was not admitted by the cluster, while those beside them could be.
 * They wait for a time and hold up no other. The leader's memory: `waiting_reason` tells all others, and a new leader finds out by
 * itself.
 */
@Injectable()
export class SetAsideTasks {
  private readonly log = new Logger(SetAsideTasks.name);
  private readonly tasks = new Map<string, SetAsideTask>();

  notStored({ pendingTaskId: { id } }: PendingTask, cause: unknown, now: number): void {
    tellFailure(this.log, `The launch of pending task '${id}' cannot be stored; it is tried again in a minute`, cause);
    const words = causeText(cause instanceof Error ? cause.message : String(cause));
    this.tasks.set(id, { why: 'CANNOT_BE_STORED', cause: words, at: now, forMillis: againAfterMillis, inRow: 0 });
  }

  notAdmitted({ pendingTaskId: { id } }: PendingTask, reason: string, now: number): void {
    const inRow = (this.tasks.get(id)?.inRow ?? 0) + 1;
    const forMillis = backOffMillis(inRow, firstPauseMillis, longestPauseMillis);
    this.tasks.set(id, { why: 'NOT_ADMITTED', cause: causeText(reason), at: now, forMillis, inRow });
  }

  /** By the ids of the tasks that are not to be tried now. */
  current(now: number): ReadonlyMap<string, SetAside> {
    for (const [id, { at }] of this.tasks) if (hasPassed(at, forgetAfterMillis, now)) this.tasks.delete(id);
    return new Map([...this.tasks].filter(([, { at, forMillis }]) => !hasPassed(at, forMillis, now)));
  }

  /** The outcome of a task that was set aside. */
  outcome(pending: PendingTask): WaitingOutcome {
    const { why = 'CANNOT_BE_STORED', cause = '' } = this.tasks.get(pending.pendingTaskId.id) ?? {};
    return { kind: 'wait', pending, why, cause };
  }
}

const causeText = (text: string): string => storableText(text, longestCause);
