import { Inject, Injectable, Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { deployKeyText } from '../../core/model/deploy.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { placeTasks, type WaitingOutcome } from '../../core/placement/index.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { PlacementFigures } from '../../platform/metrics/placement-figures.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { LaunchDispatcher } from '../dispatch/launch-dispatcher.service.js';
import { WaitingReasons } from '../explain/waiting-reasons.service.js';
import { LeaderMemory } from '../memory/leader-memory.service.js';
import { MemoryCheck } from '../memory/memory-check.service.js';
import { launchRules } from '../rules.js';
import { PlacementWriter } from './placement-writer.service.js';
import { PlacementSwitches } from './placement-switches.service.js';
import { RecentTasks } from './recent-tasks.service.js';
import { heldTask, planTask, type PlannedTask } from './task-planner.js';

/** Pause before what could not be written, because another transaction held or changed its request, is decided again. */
const againAfterMillis = 50;
/** The event loop also renews the lease, answers the API and takes status updates. */
const turnMillis = 10;

/** Most tasks in one transaction: faster than more, and an API call on the same request waits milliseconds. */
const mostTasks = 500;
/** From here on a batch ends where a request ends. */
const enoughTasks = 400;
/** While one transaction waits for the disk, the next one is under way. */
const mostWriting = 2;

/** Puts due pending tasks on machines. */
@Injectable()
export class PlacementService {
  private readonly log = new Logger(PlacementService.name);

  constructor(
    private readonly db: Database,
    private readonly memory: LeaderMemory,
    private readonly memoryCheck: MemoryCheck,
    private readonly switches: PlacementSwitches,
    private readonly writer: PlacementWriter,
    private readonly recent: RecentTasks,
    private readonly reasons: WaitingReasons,
    private readonly launches: LaunchDispatcher,
    private readonly wake: Wake,
    private readonly figures: PlacementFigures,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Answers when to run again: when the next pending task is due, or soon where something could not be written. */
  async runOnce(now: number): Promise<number | undefined> {
    await this.memory.refresh(now);
    try {
      const complete = await this.placeDue(now);
      await this.memoryCheck.runWhenDue(now);
      if (!complete) return now + againAfterMillis;
    } catch (cause) {
      // What was written is not known: the rows say.
      this.memory.drop();
      throw cause;
    }
    return this.memory.nextDueAt();
  }

  /** Answers whether everything that got a machine was written. */
  private async placeDue(now: number): Promise<boolean> {
    const snapshot = this.memory.snapshot(now);
    if (snapshot.due.length === 0) {
      await this.reasons.save([], 0, now);
      return true;
    }
    const rules = { ...this.memory.rules(), ...(await this.switches.now()), launch: launchRules(this.settings) };
    const obsolete: PendingTaskId[] = [];
    const waiting: WaitingOutcome[] = [];
    // Within a round each id is given once.
    const mayBeUsedUpTo = this.recent.mayBeUsedUpTo;
    const batches = new PlacementBatches((planned) => this.launch(planned, mayBeUsedUpTo));
    let turnEndsAt = performance.now() + turnMillis;
    for (const outcome of placeTasks(snapshot, rules, now, now)) {
      if (outcome.kind === 'wait') waiting.push(outcome);
      if (outcome.kind === 'obsolete') obsolete.push(outcome.pending.pendingTaskId);
      if (outcome.kind === 'place') {
        const { requestId } = outcome.taskId;
        const deploy = snapshot.deploys.get(deployKeyText(outcome.taskId))!;
        await batches.add(planTask(outcome, deploy, this.memory.versionOf(requestId)!, rules));
      }
      if (performance.now() < turnEndsAt) continue;
      await nextTurn();
      turnEndsAt = performance.now() + turnMillis;
    }
    const complete = await batches.end();
    if (obsolete.length > 0) await this.remove(obsolete);
    await this.reasons.save(waiting, snapshot.machines.machines.length, now);
    return complete;
  }

  private async launch(planned: readonly PlannedTask[], mayBeUsedUpTo: number): Promise<boolean> {
    const now = this.clock.now();
    for (const { taskId } of planned) this.recent.used(taskId, now);
    const written = await this.db.leaderTransaction((tx) => this.writer.write(tx, planned, now, mayBeUsedUpTo));
    for (const plan of written) this.memory.placed(plan.pending.pendingTaskId.id, heldTask(plan));
    if (written.length < planned.length) this.takeBack(planned, written);
    this.figures.placed(written.length);
    this.launches.send(written.map(({ launch }) => launch));
    this.log.debug(`Placed ${written.length} of ${planned.length} tasks`);
    if (written.length > 0) this.wake.signal('webhooks');
    return written.length === planned.length;
  }

  private takeBack(planned: readonly PlannedTask[], written: readonly PlannedTask[]): void {
    const kept = new Set(written);
    for (const plan of planned) if (!kept.has(plan)) this.memory.takenBack(plan.place.slaveId);
  }

  private async remove(obsolete: readonly PendingTaskId[]): Promise<void> {
    const listed = obsolete.map((pendingTaskId) => ({
      pendingTaskId,
      requestVersion: this.memory.versionOf(pendingTaskId.requestId),
    }));
    await this.db.leaderTransaction((tx) => this.writer.removeObsolete(tx, listed));
  }
}

/** Collects what was planned into batches and has them written, while the next ones are decided. */
class PlacementBatches {
  private planned: PlannedTask[] = [];
  private readonly writing = new Set<Promise<void>>();
  private lastRequestId: string | undefined;
  private failure: { cause: unknown } | undefined;
  private incomplete = false;

  /** `write` answers whether all of the batch was written. */
  constructor(private readonly write: (planned: readonly PlannedTask[]) => Promise<boolean>) {}

  /** Tasks of one request come one after the other. */
  async add(task: PlannedTask): Promise<void> {
    const ended = this.planned.at(-1)?.taskId.requestId !== task.taskId.requestId;
    if (this.planned.length >= mostTasks || (ended && this.planned.length >= enoughTasks)) await this.flush();
    this.planned.push(task);
  }

  /** Resolves when everything is written; answers whether nothing was left out. */
  async end(): Promise<boolean> {
    if (this.planned.length > 0) await this.flush();
    await Promise.all(this.writing);
    if (this.failure) throw this.failure.cause;
    return !this.incomplete;
  }

  private async flush(): Promise<void> {
    const batch = this.planned;
    this.planned = [];
    // Two transactions on one request: the second one would find it held and leave it out.
    const sharesRequest = batch[0]!.taskId.requestId === this.lastRequestId;
    while (this.writing.size > (sharesRequest ? 0 : mostWriting - 1)) await Promise.race(this.writing);
    if (this.failure) throw this.failure.cause;
    this.lastRequestId = batch.at(-1)!.taskId.requestId;
    const written = this.writeBatch(batch).finally(() => this.writing.delete(written));
    this.writing.add(written);
  }

  private async writeBatch(batch: readonly PlannedTask[]): Promise<void> {
    try {
      if (!(await this.write(batch))) this.incomplete = true;
    } catch (cause) {
      this.failure ??= { cause };
    }
  }
}
