import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { hasPassed } from '../../core/elapsed.js';
import { groupBy } from '../../core/group-by.js';
import type { TaskId } from '../../core/model/task.js';
import type { FleetSnapshot, PlacementRules } from '../../core/placement/index.js';
import { WorkingSet, type HeldTask } from '../../core/working-set/index.js';
import type { StoredSlave } from '../../modules/slaves/slave.repository.js';
import { Rows } from '../../rows.js';
import { commitLazily } from '../../platform/database/commit-lazily.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { RecentTasks } from '../placement/recent-tasks.service.js';
import { placementRules } from '../rules.js';
import { LeaderChangeRepository } from './leader-change.repository.js';
import { UsageMetricsLoader } from './usage-metrics.service.js';
import { WorkingSetLoader } from './working-set-loader.service.js';

/** Requests and slaves, by their ids. */
export interface MemoryPart {
  requests: readonly string[];
  slaves: readonly string[];
}

/** Difference between the memory and the rows. */
export interface Difference {
  of: keyof MemoryPart;
  id: string;
  held: unknown;
  rows: unknown;
}

/** Keys of what changed since it was asked last. */
interface Changes {
  requests: Set<string>;
  slaves: Set<string>;
  /** Some rack changed its state: all its slaves are affected. */
  racks: boolean;
}

/** Requests read together. */
const requestsPerRead = 1_000;

/** State in memory; replaced by a new one when in doubt. */
interface HeldState {
  set: WorkingSet;
  slaves: Map<string, StoredSlave>;
  /** Time at which the usage was read. */
  usageAt: number;
  /** Machines as the driver showed them, by slave id. */
  shown: ReadonlyMap<string, string>;
}

/**
 * The leader's working set, kept between rounds of placement. Changes by others are noted in leader_change and read again
 * here; what the leader itself places or sees end is told after the commit. In doubt it is dropped and loaded anew.
 */
@Injectable()
export class LeaderMemory {
  private readonly log = new Logger(LeaderMemory.name);
  private held: HeldState | undefined;
  /** Ids of requests to read again. */
  private readonly dirtyRequests = new Set<string>();
  private readonly dirtySlaves = new Set<string>();
  /** Requests of which something was told while they were being read: what was read may be older. */
  private readonly updatedMeanwhile = new Set<string>();
  /** Count of drops: what was being loaded meanwhile may be old. */
  private drops = 0;

  constructor(
    private readonly db: Database,
    private readonly changes: LeaderChangeRepository,
    private readonly loader: WorkingSetLoader,
    private readonly rows: Rows,
    private readonly usage: UsageMetricsLoader,
    private readonly recent: RecentTasks,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Another leader may have changed anything, or the outcome of a write is unknown: load anew at the next refresh. */
  drop(): void {
    this.held = undefined;
    this.drops++;
  }

  /** Makes it equal to the rows as they are now, or were at the last write of another transaction. Call before each round. */
  async refresh(now: number): Promise<void> {
    try {
      if (this.held) await this.readChanges(this.held, now);
      while (!this.held) await this.loadAll(now);
    } catch (cause) {
      this.drop();
      throw cause;
    }
  }

  /** Requests whose rows are locked in `tx`, so that what is read stays true. Call within a round, after `refresh`. */
  async readLocked(tx: Transaction, ids: readonly string[]): Promise<void> {
    await this.readSome(this.current, ids, tx);
  }

  /** Call after `refresh`. */
  snapshot(now: number): FleetSnapshot {
    return this.current.set.snapshot(now, this.recent.usedIds(now));
  }

  rules(): PlacementRules {
    return placementRules(this.settings, [...this.current.slaves.values()]);
  }

  nextDueAt(): number | undefined {
    return this.held?.set.nextDueAt();
  }

  versionOf(requestId: string): number | undefined {
    return this.held?.set.versionOf(requestId);
  }

  /** After the commit. */
  placed(pendingTaskId: string, task: HeldTask): void {
    this.updatedMeanwhile.add(task.requestId);
    this.held?.set.taskPlaced(pendingTaskId, task);
  }

  /** A round put something there that was not written. */
  takenBack(slaveId: string): void {
    this.held?.set.takenBack(slaveId);
  }

  /** After the commit: something else about the request's tasks; it is read again. */
  touched(requestId: string): void {
    this.updatedMeanwhile.add(requestId);
    this.dirtyRequests.add(requestId);
  }

  /** After the commit. */
  ended(taskIds: Iterable<Pick<TaskId, 'id' | 'requestId'> & { mayRun?: boolean }>): void {
    for (const { id, requestId, mayRun } of taskIds) {
      this.updatedMeanwhile.add(requestId);
      this.held?.set.taskEnded(requestId, id, mayRun);
    }
  }

  /** All that it holds. */
  everything(): MemoryPart {
    const { set } = this.current;
    return { requests: [...set.requestIds], slaves: [...set.slaveIds] };
  }

  /**
   * Compares a part of the memory with its rows. Known changes in the meantime are left out. Call within a round, after
   * `refresh`.
   */
  async compare(part: MemoryPart, now: number): Promise<Difference[]> {
    const held = this.current;
    this.updatedMeanwhile.clear();
    const fresh = await this.loadPart(held, part);
    await this.noteChanges(held, now);
    const requests = part.requests.filter((id) => !this.dirtyRequests.has(id) && !this.updatedMeanwhile.has(id));
    const slaves = part.slaves.filter((id) => !this.dirtySlaves.has(id));
    return [
      ...requests.map((id) => {
        return { of: 'requests' as const, id, held: held.set.describeRequest(id), rows: fresh.describeRequest(id) };
      }),
      ...slaves.map((id) => {
        return { of: 'slaves' as const, id, held: held.set.describeMachine(id), rows: fresh.describeMachine(id) };
      }),
    ].filter((one) => !isDeepStrictEqual(plain(one.held), plain(one.rows)));
  }

  private get current(): HeldState {
    if (!this.held) throw new Error('The working set was not loaded');
    return this.held;
  }

  /** Holds nothing after it when it was dropped meanwhile. */
  private async loadAll(now: number): Promise<void> {
    const began = performance.now();
    const { drops } = this;
    await this.takeChanges();
    this.dirtyRequests.clear();
    this.dirtySlaves.clear();
    this.updatedMeanwhile.clear();
    this.recent.takeChangedSlaves(now);
    const [requests, slaves, latestStart] = await Promise.all([
      this.loader.load(),
      this.rows.slaves.list(this.db.leaderPool),
      this.rows.taskLaunches.latestStart(this.db.leaderPool),
    ]);
    this.recent.startedUpTo(latestStart);
    const shown = this.loader.shown();
    const set = new WorkingSet(placementRules(this.settings, slaves));
    for (const { id, request, tasks, pendingTasks, givenUp } of requests) {
      set.putRequest(id, request, tasks, pendingTasks, givenUp);
    }
    for (const machine of this.loader.machines(slaves)) set.putMachine(machine.slaveId, machine);
    this.log.debug(`Loaded ${requests.length} requests, ${slaves.length} slaves in ${performance.now() - began} ms`);
    const held = { set, slaves: new Map(slaves.map((slave) => [slave.id, slave])), usageAt: 0, shown };
    await this.readUsage(held, now);
    if (this.drops !== drops) return;
    for (const id of this.updatedMeanwhile) this.dirtyRequests.add(id);
    this.held = held;
  }

  /** A part alone, as its rows are; figures of use are those held. */
  private async loadPart(held: HeldState, part: MemoryPart): Promise<WorkingSet> {
    const [requests, tasks, slaves] = await Promise.all([
      this.loader.load(part.requests),
      this.loader.tasksOn(part.slaves),
      this.rows.slaves.list(this.db.leaderPool, part.slaves),
    ]);
    const set = new WorkingSet(placementRules(this.settings, [...held.slaves.values()]));
    set.copyUsageOf(held.set);
    const wanted = new Set(part.slaves);
    for (const machine of this.loader.machines(slaves)) {
      if (wanted.has(machine.slaveId)) set.putMachine(machine.slaveId, machine);
    }
    for (const [id, own] of groupBy(tasks, ({ requestId }) => requestId)) set.putRequest(id, undefined, own, []);
    for (const { id, request, tasks: all, pendingTasks, givenUp } of requests)
      set.putRequest(id, request, all, pendingTasks, givenUp);
    return set;
  }

  private async readChanges(held: HeldState, now: number): Promise<void> {
    await this.noteChanges(held, now);
    await Promise.all([this.readRequests(held), this.readDirtySlaves(held)]);
    if (hasPassed(held.usageAt, this.settings.checkUsageEveryMillis, now)) await this.readUsage(held, now);
  }

  private async takeChanges(): Promise<Changes> {
    const changes: Changes = { requests: new Set(), slaves: new Set(), racks: false };
    if (!(await this.changes.any(this.db.leaderPool))) return changes;
    const found = await this.db.leaderTransaction(async (tx) => {
      // Should the database lose this commit, the notes come back and are read once more.
      const [, taken] = await Promise.all([commitLazily(tx), this.changes.take(tx)]);
      return taken;
    });
    for (const { kind, key } of found) {
      if (kind === 'request') changes.requests.add(key);
      else if (kind === 'slave') changes.slaves.add(key);
      else changes.racks = true;
    }
    return changes;
  }

  /** Notes the rows to read again. */
  private async noteChanges(held: HeldState, now: number): Promise<void> {
    const { requests, slaves, racks } = await this.takeChanges();
    for (const id of requests) this.dirtyRequests.add(id);
    const shown = this.loader.shown();
    for (const id of [...slaves, ...this.recent.takeChangedSlaves(now), ...changedKeys(held.shown, shown)]) {
      this.dirtySlaves.add(id);
    }
    if (racks) for (const id of held.slaves.keys()) this.dirtySlaves.add(id);
    held.shown = shown;
  }

  /** They change only when samples are taken. */
  private async readUsage(held: HeldState, now: number): Promise<void> {
    const { usages, utilizations } = await this.usage.load();
    held.set.setUsages(usages);
    for (const id of held.set.utilized) if (!utilizations.has(id)) held.set.setUtilization(id, undefined);
    for (const [id, utilization] of utilizations) held.set.setUtilization(id, utilization);
    held.usageAt = now;
  }

  private async readRequests(held: HeldState): Promise<void> {
    const wanted = [...this.dirtyRequests];
    for (let first = 0; first < wanted.length; first += requestsPerRead) {
      await this.readSome(held, wanted.slice(first, first + requestsPerRead));
    }
    this.updatedMeanwhile.clear();
  }

  private async readSome({ set }: HeldState, ids: readonly string[], locking?: Transaction): Promise<void> {
    for (const id of ids) this.updatedMeanwhile.delete(id);
    for (const { id, request, tasks, pendingTasks, givenUp } of await this.loader.load(ids, locking)) {
      if (this.updatedMeanwhile.has(id)) continue;
      set.putRequest(id, request, tasks, pendingTasks, givenUp);
      this.dirtyRequests.delete(id);
    }
  }

  private async readDirtySlaves(held: HeldState): Promise<void> {
    if (this.dirtySlaves.size > 0) await this.readSlaves(held, [...this.dirtySlaves]);
  }

  /** The given ones, or all. */
  private async readSlaves({ set, slaves }: HeldState, ids?: readonly string[]): Promise<void> {
    const read = await this.rows.slaves.list(this.db.leaderPool, ids);
    const asked = ids ?? [...slaves.keys()];
    for (const id of asked) slaves.delete(id);
    for (const slave of read) slaves.set(slave.id, slave);
    const shown = new Map(this.loader.machines([...slaves.values()]).map((machine) => [machine.slaveId, machine]));
    for (const id of new Set([...asked, ...read.map((slave) => slave.id)])) set.putMachine(id, shown.get(id));
    this.dirtySlaves.clear();
  }
}

function* changedKeys(former: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): Iterable<string> {
  for (const [key, value] of now) if (former.get(key) !== value) yield key;
  for (const key of former.keys()) if (!now.has(key)) yield key;
}

/** Without the difference between absent and undefined. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
