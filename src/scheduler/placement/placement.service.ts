import { Inject, Injectable, Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LaunchRules } from '../../core/launch/index.js';
import { deployKeyText } from '../../core/model/deploy.js';
import type { PendingTask, PendingTaskId } from '../../core/model/task.js';
import {
  type FleetSnapshot,
  placeTasks,
  type PlacementRules,
  type WaitingOutcome,
} from '../../core/placement/index.js';
import { Clock } from '../../platform/clock.js';
import { byHalves } from '../../platform/database/by-halves.js';
import { isLockTimeout, isPassing } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { PlacementFigures } from '../../platform/metrics/placement-figures.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { LaunchDispatcher } from '../dispatch/launch-dispatcher.service.js';
import { WaitingReasons } from '../explain/waiting-reasons.service.js';
import { LeaderMemory } from '../memory/leader-memory.service.js';
import { MemoryCheck } from '../memory/memory-check.service.js';
import { RunTimes } from '../memory/run-times.service.js';
import { launchRules } from '../rules.js';
import { mostCharacters, mostTasks, PlacementBatches } from './placement-batches.js';
import { type ObsoleteTask, PlacementWriter } from './placement-writer.service.js';
import { PlacementSwitches } from './placement-switches.service.js';
import { RecentTasks } from './recent-tasks.service.js';
import { SetAsideTasks } from './set-aside.service.js';
import { StartOrder } from './start-order.service.js';
import { heldTask, type TaskPlacement, planTask, type PlannedTask } from './task-planner.js';

/** Pause before what could not be written, because its request was not to be had or its machine has changed, is decided again. */
const againAfterMillis = 50;
/** Health of others, which nothing tells the scheduler of, is looked at again after this. */
const startOrderEveryMillis = 1_000;
/** The event loop also renews the lease, answers the API and takes status updates. */
const turnMillis = 10;

/** One round of placement. */
interface Round {
  /** Requests that others held, or changed while it was decided. */
  contended: Set<string>;
  /** As `RecentTasks` said when it began: within a round each id is given once. */
  mayBeUsedUpTo: number;
  /** Pending tasks whose launch could not be stored. */
  setAside: PendingTask[];
  /** Some first starts wait for other requests. */
  startsWait: boolean;
}

type PlanRules = PlacementRules & { launch: LaunchRules };

/** Puts due pending tasks on machines. */
@Injectable()
export class PlacementService {
  private readonly log = new Logger(PlacementService.name);

  constructor(
    private readonly db: Database,
    private readonly memory: LeaderMemory,
    private readonly memoryCheck: MemoryCheck,
    private readonly switches: PlacementSwitches,
    private readonly startOrder: StartOrder,
    private readonly writer: PlacementWriter,
    private readonly recent: RecentTasks,
    private readonly setAside: SetAsideTasks,
    private readonly runTimes: RunTimes,
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
      const round: Round = {
        contended: new Set(),
        mayBeUsedUpTo: this.recent.mayBeUsedUpTo,
        setAside: [],
        startsWait: false,
      };
      let complete = await this.placeDue(round, now);
      if (round.contended.size > 0) complete = (await this.placeInTurn([...round.contended], round, now)) && complete;
      await this.memoryCheck.runWhenDue(now);
      if (!complete) return now + againAfterMillis;
      if (round.startsWait) return Math.min(now + startOrderEveryMillis, this.memory.nextDueAt() ?? Infinity);
    } catch (cause) {
      // What was written is not known: the rows say.
      this.memory.drop();
      throw cause;
    }
    return this.memory.nextDueAt();
  }

  /** Answers whether everything that got a machine was written, contended requests aside. */
  private async placeDue(round: Round, now: number): Promise<boolean> {
    const snapshot = this.memory.snapshot(now);
    if (snapshot.due.length === 0) {
      await this.reasons.save([], 0, now);
      return true;
    }
    const rules = {
      ...(await this.rules(now)),
      startWaits: await this.startWaits(this.db.leaderPool, snapshot, round),
    };
    const obsolete: PendingTaskId[] = [];
    const waiting: WaitingOutcome[] = [];
    const batches = new PlacementBatches((planned) => this.launchAll(planned, round));
    let turnEndsAt = performance.now() + turnMillis;
    for (const outcome of placeTasks(snapshot, rules, now, now)) {
      if (outcome.kind === 'wait') waiting.push(outcome);
      if (outcome.kind === 'obsolete') obsolete.push(outcome.pending.pendingTaskId);
      if (outcome.kind === 'place') {
        const planned = this.planOrSetAside(outcome, snapshot, rules, round);
        if (planned) await batches.add(planned);
      }
      if (performance.now() < turnEndsAt) continue;
      await nextTurn();
      turnEndsAt = performance.now() + turnMillis;
    }
    const complete = await batches.end();
    if (obsolete.length > 0) {
      for (const requestId of await this.remove(obsolete)) round.contended.add(requestId);
    }
    waiting.push(...round.setAside.map((pending) => this.setAside.outcome(pending)));
    await this.reasons.save(waiting, snapshot.machines.machines.length, now);
    return complete;
  }

  /**
   * Places tasks of requests that others held, or changed during the decision. First the locks, in their turn; then the
   * decision, on the present rows. So they are placed in this round, however many calls there are. Returns true when
   * everything was written.
   */
  private async placeInTurn(
    requestIds: readonly string[],
    round: Round,
    now: number,
    most = mostTasks,
  ): Promise<boolean> {
    let planned: PlannedTask[] = [];
    let isFull = false;
    const rules = await this.rules(now);
    try {
      const written = await this.db.leaderTransaction(async (tx) => {
        this.takeBack(planned, []);
        await this.writer.lock(tx, requestIds);
        await this.memory.readLocked(tx, requestIds);
        const snapshot = this.snapshotOf(requestIds, now);
        const startWaits = await this.startWaits(tx, snapshot, round);
        const decided = this.decide(snapshot, { ...rules, startWaits }, round, now, most);
        ({ planned, isFull } = decided);
        for (const { taskId } of planned) this.recent.used(taskId, now);
        await this.writer.removeObsolete(tx, this.listed(decided.obsolete));
        return this.writer.write(tx, planned, this.clock.now(), round.mayBeUsedUpTo);
      });
      this.launched(planned, written.launched);
      return written.launched.length === planned.length && !isFull;
    } catch (cause) {
      const isLocked = isLockTimeout(cause);
      if (!isLocked && isPassing(cause)) throw cause;
      this.takeBack(planned, []);
      if (requestIds.length === 1) {
        if (isLocked) return false;
        if (planned.length > 1) return this.placeInTurn(requestIds, round, now, Math.ceil(planned.length / 2));
        if (planned.length === 0) throw cause;
        this.putAside(planned[0]!.pending, cause, round);
        return false;
      }
      // The one that is kept, or cannot be written, must not hold up the others.
      let complete = true;
      for (const requestId of requestIds) complete = (await this.placeInTurn([requestId], round, now)) && complete;
      return complete;
    }
  }

  private snapshotOf(requestIds: readonly string[], now: number): FleetSnapshot {
    const wanted = new Set(requestIds);
    const all = this.memory.snapshot(now);
    return { ...all, due: all.due.filter(({ pendingTaskId }) => wanted.has(pendingTaskId.requestId)) };
  }

  /** Decides about due tasks, as far as there is room in one transaction. */
  private decide(
    snapshot: FleetSnapshot,
    rules: PlanRules,
    round: Round,
    now: number,
    most: number,
  ): { planned: PlannedTask[]; obsolete: PendingTaskId[]; isFull: boolean } {
    const planned: PlannedTask[] = [];
    const obsolete: PendingTaskId[] = [];
    let characters = 0;
    for (const outcome of placeTasks(snapshot, rules, now, now)) {
      if (outcome.kind === 'obsolete') obsolete.push(outcome.pending.pendingTaskId);
      const plan = outcome.kind === 'place' && this.planOrSetAside(outcome, snapshot, rules, round);
      if (!plan) continue;
      planned.push(plan);
      characters += plan.document.length;
      if (planned.length >= most || characters >= mostCharacters) return { planned, obsolete, isFull: true };
    }
    return { planned, obsolete, isFull: false };
  }

  private async rules(now: number): Promise<PlanRules> {
    const setAside = this.setAside.current(now);
    const switched = await this.switches.now();
    return { ...this.memory.rules(), ...switched, setAside, launch: launchRules(this.settings) };
  }

  private async startWaits(
    tx: Queryable,
    { due, requests }: FleetSnapshot,
    round: Round,
  ): Promise<Map<string, string>> {
    const ids = new Set(due.map(({ pendingTaskId }) => pendingTaskId.requestId));
    const waits = await this.startOrder.waits(
      tx,
      [...ids].flatMap((id) => requests.get(id)?.request ?? []),
    );
    round.startsWait ||= waits.size > 0;
    return waits;
  }

  /** undefined: no launch could be made of it. */
  private planOrSetAside(
    placed: TaskPlacement,
    { deploys }: FleetSnapshot,
    rules: PlanRules,
    round: Round,
  ): PlannedTask | undefined {
    const deploy = deploys.get(deployKeyText(placed.taskId))!;
    try {
      return planTask(placed, deploy, this.memory.versionOf(placed.taskId.requestId)!, rules);
    } catch (cause) {
      this.memory.takenBack(placed.machine.slaveId);
      this.putAside(placed.pending, cause, round);
      return undefined;
    }
  }

  private putAside(pending: PendingTask, cause: unknown, round: Round): void {
    this.setAside.notStored(pending, cause, this.clock.now());
    round.setAside.push(pending);
  }

  /**
   * Launches that one transaction cannot store are bisected until the one at fault is known: that one alone is set
   * aside.
   */
  private async launchAll(planned: readonly PlannedTask[], round: Round): Promise<boolean> {
    let complete = true;
    await byHalves(planned, {
      work: async (some) => void (complete = (await this.launch(some, round)) && complete),
      isAboutItems: (cause) => !isPassing(cause),
      alone: (plan, cause) => {
        this.takeBack([plan], []);
        this.putAside(plan.pending, cause, round);
      },
    });
    return complete;
  }

  private async launch(planned: readonly PlannedTask[], { contended, mayBeUsedUpTo }: Round): Promise<boolean> {
    const now = this.clock.now();
    for (const { taskId } of planned) this.recent.used(taskId, now);
    const written = await this.db.leaderTransaction((tx) => this.writer.write(tx, planned, now, mayBeUsedUpTo));
    this.launched(planned, written.launched);
    for (const requestId of written.contended) contended.add(requestId);
    const kept = new Set(written.launched);
    return planned.every((plan) => kept.has(plan) || contended.has(plan.taskId.requestId));
  }

  /** After the commit. */
  private launched(planned: readonly PlannedTask[], launched: readonly PlannedTask[]): void {
    for (const plan of launched) {
      this.memory.placed(plan.pending.pendingTaskId.id, heldTask(plan));
      this.runTimes.placed(plan.taskId, plan.request);
    }
    if (launched.length < planned.length) this.takeBack(planned, launched);
    this.figures.placed(launched.length);
    this.launches.send(launched.map(({ launch, document }) => ({ spec: launch, size: document.length })));
    this.log.debug(`Placed ${launched.length} of ${planned.length} tasks`);
    if (launched.length > 0) this.wake.signal('webhooks');
  }

  private takeBack(planned: readonly PlannedTask[], written: readonly PlannedTask[]): void {
    const kept = new Set(written);
    for (const plan of planned) if (!kept.has(plan)) this.memory.takenBack(plan.place.slaveId);
  }

  /** Answers requests that have changed meanwhile. */
  private remove(obsolete: readonly PendingTaskId[]): Promise<readonly string[]> {
    const listed = this.listed(obsolete);
    return this.db.leaderTransaction((tx) => this.writer.removeObsolete(tx, listed));
  }

  private listed(obsolete: readonly PendingTaskId[]): ObsoleteTask[] {
    return obsolete.map((pendingTaskId) => ({
      pendingTaskId,
      requestVersion: this.memory.versionOf(pendingTaskId.requestId),
    }));
  }
}
