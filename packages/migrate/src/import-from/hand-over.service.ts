import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { isLongRunning, type PendingType, type RequestType } from '../../../../src/core/model/enums.js';
import { parseTaskId } from '../../../../src/core/task-id.js';
import { inParallel } from '../../../../src/platform/async.js';
import { Clock } from '../../../../src/platform/clock.js';
import { Database } from '../../../../src/platform/database/database.js';
import { Wake } from '../../../../src/platform/wake/wake.js';
import { Pauses } from '../../../../src/modules/requests/actions/pauses.service.js';
import { RequestRepository } from '../../../../src/modules/requests/request.repository.js';
import { HistoryCopy } from './history-copy.service.js';
import { ImportItemRepository } from './import-item.repository.js';
import { problemOf } from './import-report.js';
import { handOverMessage, nextSlot, plannedUpTo, type RestingJob } from './next-slot.js';
import { readParent, readRequestEvent, readTaskEntry, type OriginalParent } from './records.js';
import { fingerprintOf, type ImportRun, importUser, RequestImport } from './request-import.service.js';
import { matches } from './take.js';

export interface HandOverWishes {
  /** Ids, in which `*` stands for any characters and `?` for one. */
  pattern: string;
  /** Pause it there first, which ends its tasks there; runs of jobs are waited for. */
  pauseSource: boolean;
  /** It may run there and here at the same time. */
  sideBySide: boolean;
  /** Longest wait for tasks that still run there. */
  waitMillis: number;
  atOnce: number;
  say: (line: string) => void;
  /** Called after each request; what it throws ends the work. */
  progress: () => void;
}

const lookEveryMillis = 500;
/** Query for the newest changes and tasks: those that tell until when a schedule was seen to. */
const newest = 'count=10&page=1';
/** Runs that were promised to a caller, or to a run that failed. */
const promised: ReadonlySet<unknown> = new Set<PendingType>(['IMMEDIATE', 'ONEOFF', 'RETRY']);
const changedHere = 'it was changed here since it was taken: unpause it here when the original runs it no more';

/** Hands requests over that were taken and held: from then on they run here. */
@Injectable()
export class HandOver {
  constructor(
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly items: ImportItemRepository,
    private readonly taking: RequestImport,
    private readonly history: HistoryCopy,
    private readonly pauses: Pauses,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /** Answers how many were handed over, and how many stay as they are; of these it is said why. */
  async run(run: ImportRun, wishes: HandOverWishes): Promise<{ done: number; left: number }> {
    const held = await this.items.heldIds(this.db.pool);
    const wanted = held.filter((id) => matches(wishes.pattern, id));
    const results = await inParallel(
      wanted,
      wishes.atOnce,
      async (id) => {
        const obstacle = await this.handOver(id, run, wishes);
        wishes.say(
          obstacle === undefined
            ? `${run.dryRun ? 'would hand over' : 'handed over'}: ${id}`
            : `stays held: ${id}: ${obstacle}`,
        );
        wishes.progress();
        return obstacle === undefined;
      },
      { stopAtFailure: true },
    );
    const done = results.filter(Boolean).length;
    return { done, left: wanted.length - done };
  }

  /** undefined: it runs here now; else why not. */
  private async handOver(id: string, run: ImportRun, wishes: HandOverWishes): Promise<string | undefined> {
    const before = await this.look(id, run);
    const obstacle = before && (await this.obstacle(before, run, wishes));
    if (obstacle !== undefined) return obstacle;
    if (run.dryRun) return undefined;
    if (before && isRunning(before) && wishes.pauseSource) {
      // What a run of a job has begun it ends; a service begins anew here.
      const killTasks = isLongRunning(before.request['requestType'] as RequestType);
      const options = { message: handOverMessage, killTasks };
      await run.original.post(`requests/request/${encodeURIComponent(id)}/pause`, options);
    }
    if (!wishes.sideBySide) {
      const left = await this.whatStays(id, run, wishes.waitMillis);
      if (left !== undefined) return left;
    }
    const paused = await this.look(id, run);
    if (paused && isRunning(paused) && !wishes.sideBySide) return `it is ${paused.state} there again`;
    if (!paused) return this.begin(id);
    await this.taking.take(paused, run);
    await this.history.copy(id, run);
    if (wishes.sideBySide) return this.begin(id);
    try {
      return await this.begin(id, await this.restingJob(paused, run));
    } catch (cause) {
      const problem = problemOf(cause);
      if (problem === undefined) throw cause;
      return `what it has run there cannot be read: ${problem}`;
    }
  }

  /** undefined: it is gone there. */
  private async look(id: string, { original }: ImportRun): Promise<OriginalParent | undefined> {
    const answer = await original.find(`requests/request/${encodeURIComponent(id)}`);
    return answer === undefined ? undefined : readParent(answer);
  }

  private async obstacle(there: OriginalParent, run: ImportRun, wishes: HandOverWishes): Promise<string | undefined> {
    const { id } = there.request;
    const { activeDeploy, pendingDeploy } = there.requestDeployState ?? {};
    if (there.state === 'DELETING') return 'it is being deleted there';
    if (pendingDeploy) return `deploy ${pendingDeploy.deployId} is in progress there`;
    if (isRunning(there) && !wishes.pauseSource && !wishes.sideBySide) {
      return `it is ${there.state} there: pause it there, or add --pause-source (or --side-by-side)`;
    }
    if (isRunning(there) && wishes.pauseSource) {
      const waiting = await this.promisedRuns(id, run);
      if (waiting > 0) return `${waiting} runs that were asked for wait there: run this again when they have begun`;
    }
    await this.taking.take(there, run);
    if (run.dryRun) return undefined;
    const item = await this.items.find(this.db.pool, 'REQUEST', id);
    const stored = await this.requests.find(this.db.pool, id);
    if (stored?.version !== item?.version) return changedHere;
    if (item?.fingerprint !== fingerprintOf(there)) return 'as it is there now it is refused here';
    return activeDeploy && !stored?.activeDeployId ? 'its active deploy is refused here: deploy it here' : undefined;
  }

  /** A pause there would drop them. */
  private async promisedRuns(id: string, { original }: ImportRun): Promise<number> {
    const planned = await original.list(plannedPath(id));
    const typeOf = (answer: unknown): unknown =>
      (answer as { pendingTask?: { pendingTaskId?: { pendingType?: unknown } } }).pendingTask?.pendingTaskId
        ?.pendingType;
    return planned.filter((answer) => promised.has(typeOf(answer))).length;
  }

  /** undefined: nothing of it runs there, and nothing is about to. */
  private async whatStays(id: string, { original }: ImportRun, waitMillis: number): Promise<string | undefined> {
    const until = performance.now() + waitMillis;
    for (;;) {
      // In this order: what is planned becomes a task, never the other way round.
      const planned = await original.list(plannedPath(id));
      const running = await original.list(`history/request/${encodeURIComponent(id)}/tasks/active`);
      if (planned.length + running.length === 0) return undefined;
      if (performance.now() > until) {
        if (running.length === 0) return 'its next run is still planned there; run this again';
        return `${running.length} of its tasks still run there; run this again when they have ended`;
      }
      await delay(lookEveryMillis);
    }
  }

  private async restingJob(
    { request, requestDeployState }: OriginalParent,
    { original }: ImportRun,
  ): Promise<RestingJob> {
    const base = `history/request/${encodeURIComponent(request.id)}`;
    const events = (await original.list(`${base}/requests?${newest}`)).map(readRequestEvent);
    const tasks = (await original.list(`${base}/tasks?${newest}`)).map(readTaskEntry);
    return {
      events,
      tasks: tasks.map(({ taskId, updatedAt }) => ({
        startedAt: parseTaskId(taskId.id)?.startedAt ?? updatedAt,
        endedAt: updatedAt,
      })),
      deployedAt: requestDeployState?.activeDeploy?.timestamp,
    };
  }

  /** job: as it rests there now. */
  private async begin(id: string, job?: RestingJob): Promise<string | undefined> {
    const obstacle = await this.db.transaction(async (tx) => {
      const stored = await this.requests.lock(tx, id);
      const item = await this.items.find(tx, 'REQUEST', id);
      if (!stored || !item?.held) return 'it is not held any more';
      if (stored.version !== item.version || stored.state !== 'PAUSED') return changedHere;
      const now = this.clock.now();
      const isPlanned = job && stored.request.requestType === 'SCHEDULED';
      const plannedFor = isPlanned ? nextSlot(stored.request, job, now) : undefined;
      const resting = isPlanned ? { ...stored, scheduleSince: plannedUpTo(job, now) } : stored;
      const options = { message: 'Handed over' };
      await this.pauses.endPause(tx, resting, { now, user: importUser, options, plannedFor, quiet: true });
      await this.items.noteHandedOver(tx, id, now);
      return undefined;
    });
    if (obstacle === undefined) this.wake.signalOf([id], 'scheduler', 'webhooks');
    return obstacle;
  }
}

const isRunning = ({ state }: OriginalParent): boolean => state !== 'PAUSED' && state !== 'FINISHED';

const plannedPath = (id: string): string => `tasks/scheduled/request/${encodeURIComponent(id)}`;
