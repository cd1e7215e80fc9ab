import { Inject, Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { CLUSTER_DRIVER, type ClusterDriver, type StatusUpdate } from '../../cluster/cluster-driver.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Wake } from '../../platform/wake/wake.js';
import { LeaderMemory } from '../memory/leader-memory.service.js';
import type { Report } from './report.js';
import { StatusApplier, type Applied } from './status-applier.service.js';
import { StatusStore } from './status-store.service.js';

const updatesPerTransaction = 500;
/** A task that runs although nobody wants it gets this long to end by itself. */
const strangerGraceMillis = 60_000;

/** Takes what machines report and what the scheduler concludes about tasks. */
@Injectable()
export class StatusUpdates {
  private readonly log = new Logger(StatusUpdates.name);

  constructor(
    private readonly db: Database,
    private readonly applier: StatusApplier,
    private readonly store: StatusStore,
    private readonly leadership: Leadership,
    private readonly memory: LeaderMemory,
    private readonly wake: Wake,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /** Updates of one agent, in the order of their numbers. Resolves when they are stored. */
  async reported(updates: readonly StatusUpdate[]): Promise<void> {
    for (let first = 0; first < updates.length; first += updatesPerTransaction) {
      const batch = updates.slice(first, first + updatesPerTransaction);
      try {
        await this.storeBatch(batch);
      } catch (cause) {
        if (isPassing(cause)) throw cause;
        await this.oneByOne(batch);
      }
    }
  }

  /** Concluded by the scheduler itself; changes nothing where a task has ended already. */
  async concluded(reports: readonly Report[]): Promise<void> {
    if (reports.length === 0) return;
    const applied = await this.db.leaderTransaction((tx) => this.applier.apply(tx, reports, this.clock.now()));
    this.follow(applied);
  }

  /** Of the agent that sent `updates`: what was applied before is left out, and how far it is now is stored with it. */
  private async storeBatch(updates: readonly StatusUpdate[]): Promise<void> {
    const applied = await this.db.leaderTransaction(async (tx) => {
      const fresh = await this.notYetApplied(tx, updates);
      const result = await this.applier.apply(tx, fresh, this.clock.now());
      const last = fresh.at(-1);
      if (last && last.number > 0) await this.store.saveCursor(tx, last);
      return result;
    });
    this.follow(applied);
  }

  private async notYetApplied(tx: EntityManager, updates: readonly StatusUpdate[]): Promise<StatusUpdate[]> {
    const [first] = updates;
    const cursor = first && (await this.store.cursor(tx, first.agentId));
    return updates
      .filter(
        ({ incarnation, number }) => number === 0 || cursor?.incarnation !== incarnation || number > cursor.number,
      )
      .toSorted((a, b) => a.number - b.number);
  }

  /** One update that cannot be stored must not hold up the others; what it said is found again by reconciliation. */
  private async oneByOne(updates: readonly StatusUpdate[]): Promise<void> {
    for (const update of updates) {
      try {
        await this.storeBatch([update]);
      } catch (cause) {
        if (isPassing(cause)) throw cause;
        this.log.error(
          `Cannot store ${update.state} of task '${update.taskId}'; leaving it out: ${String(cause)}`,
          cause,
        );
      }
    }
  }

  private follow({ strangers, recorded, ended }: Applied): void {
    this.memory.ended(ended);
    this.killStrangers(strangers);
    if (recorded > 0) this.wake.signal('deploys', 'cleanup', 'webhooks');
    if (ended.length > 0) this.wake.signal('scheduler', 'history', 'machines');
  }

  /** Asked once; reconciliation finds them again if this does not get through. */
  killStrangers(strangers: readonly Pick<Report, 'taskId' | 'slaveId' | 'state'>[]): void {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    for (const { taskId, slaveId, state } of strangers) {
      this.log.warn(`Task '${taskId}' on slave '${slaveId}' is ${state} but nobody wants it: killing it`);
      this.driver.kill(taskId, slaveId, strangerGraceMillis, epoch).catch((cause: unknown) => {
        this.log.warn(`Task '${taskId}' could not be killed: ${String(cause)}`);
      });
    }
  }
}

/** Errors that say nothing about the update: no leader any more, or the database is away. */
function isPassing(cause: unknown): boolean {
  const code = (cause as { code?: string }).code;
  // Data exceptions and broken constraints come again; everything else may not.
  return !(typeof code === 'string' && /^2[23]/.test(code)) && !(cause instanceof TypeError);
}
