import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type Follower, followUps, isOver, type RunEnd, withoutParentVariables } from '../../core/flows/index.js';
import { groupBy } from '../../core/group-by.js';
import type { TaskCleanupType, TaskState } from '../../core/model/enums.js';
import type { PendingTask, TaskId } from '../../core/model/task.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { FlowGraphRepository } from './flow-graph.repository.js';
import type { LostRun } from './flow-run.repository.js';
import { type ChangeOfFlow, FlowRepository, type NewRun } from './flow.repository.js';

/** A run whose last try has ended. */
export interface EndOfRun {
  taskId: Pick<TaskId, 'id' | 'requestId'>;
  state: TaskState;
  endedAt: number;
  pendingTask: PendingTask;
  cleanupType?: TaskCleanupType;
}

interface EndInFlow extends RunEnd {
  flowId: string;
  /** Options that its tries were launched with. */
  asked: Partial<PendingTask>;
}

/** Runs that follow the ends of others: made in the transaction that stores the ends, and so exactly once. */
@Injectable()
export class FollowUps {
  constructor(
    private readonly graph: FlowGraphRepository,
    private readonly flows: FlowRepository,
  ) {}

  /** The rows of the requests, and of the tasks, are locked in `tx`. Wake 'scheduler' after the commit. */
  async after(tx: Transaction, runs: readonly EndOfRun[], now: number): Promise<void> {
    const followed = runs.filter(({ pendingTask }) => pendingTask.triggersFollowers !== false);
    if (followed.length === 0) return;
    const followers = await this.graph.followers(tx, [...new Set(followed.map(({ taskId }) => taskId.requestId))]);
    const parents = new Set(followers.flatMap((follower) => follower.parents.map(({ requestId }) => requestId)));
    const ends = followed
      .filter(({ taskId, pendingTask }) => pendingTask.flowId !== undefined || parents.has(taskId.requestId))
      .map(endInFlow);
    if (ends.length === 0) return;
    await this.follow(tx, ends, followers, now);
  }

  /** A run whose end was not seen as such when its last task ended: it was to be tried again, or to come back, and was not. */
  async concluded(tx: Transaction, run: LostRun, last: NonNullable<LostRun['last']>, now: number): Promise<void> {
    const { flowId, requestId, runId, asked } = run;
    const followers = await this.graph.followers(tx, [requestId]);
    const end = { ...last, flowId, requestId, runId, asked, isOver: true, args: asked.cmdLineArgsList };
    await this.follow(tx, [end], followers, now);
  }

  private async follow(
    tx: Transaction,
    ends: readonly EndInFlow[],
    followers: readonly Follower[],
    now: number,
  ): Promise<void> {
    const byFlow = groupBy(ends, ({ flowId }) => flowId);
    const ids = [...byFlow.keys()];
    await this.flows.begin(tx, new Map([...byFlow].map(([id, [first]]) => [id, first!.requestId])), now);
    const known = await this.flows.load(
      tx,
      ids,
      ends,
      followers.map(({ requestId }) => requestId),
    );
    const changes = ids
      .toSorted()
      .map((flowId) => ({ flowId, change: followUps(byFlow.get(flowId)!, followers, known.get(flowId)!) }));
    await this.write(tx, changes, ends, now);
  }

  private async write(
    tx: Transaction,
    changes: readonly ChangeOfFlow[],
    ends: readonly EndInFlow[],
    now: number,
  ): Promise<void> {
    const asked = new Map(ends.map((end) => [end.taskId, end.asked]));
    const made = changes.flatMap(({ flowId, change }) =>
      change.made.map(({ requestId, cause, parentRuns, args }): NewRun => {
        const options = args ? { cmdLineArgsList: [...args] } : {};
        const of = { flowId, requestId, runId: randomUUID() };
        return { ...of, cause, parentRuns: [...parentRuns], trigger: 'AFTER', asked: options };
      }),
    );
    const refused = changes.map(({ flowId, change }) => ({ flowId, refused: change.refused }));
    // In one go and in this order: the runs are counted when they are written.
    await Promise.all([
      this.flows.end(tx, changes, asked, now),
      this.flows.meet(tx, changes),
      this.flows.add(tx, made, now),
      this.flows.count(tx, refused, now),
    ]);
  }
}

/** A run that is in no flow yet begins one, which has its id from the task that ended. */
const endInFlow = ({ taskId, state, endedAt, pendingTask, cleanupType }: EndOfRun): EndInFlow => ({
  requestId: taskId.requestId,
  runId: pendingTask.runId ?? taskId.id,
  flowId: pendingTask.flowId ?? taskId.id,
  taskId: taskId.id,
  state,
  endedAt,
  isOver: isOver(state),
  isReplaced: cleanupType === 'REPLACED_BY_NEXT_RUN',
  args: pendingTask.cmdLineArgsList,
  asked: optionsOf(pendingTask),
});

/** All that was asked for a run, without what tells one run, or try, from another. */
function optionsOf(pendingTask: PendingTask): Partial<PendingTask> {
  const { pendingTaskId: _1, runId: _2, retries: _3, askedAt: _4, actionId: _5, trigger: _6, ...rest } = pendingTask;
  const { scheduledAt: _7, attempt: _8, flowId: _9, parentRuns: _10, ...options } = rest;
  return { ...options, envOverrides: withoutParentVariables(options.envOverrides) };
}
