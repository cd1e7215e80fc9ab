import { Injectable } from '@nestjs/common';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';
import { groupBy } from '../../core/group-by.js';
import { isStorable, storableText } from '../../core/storable-text.js';
import { Clock } from '../../platform/clock.js';
import { byHalves } from '../../platform/database/by-halves.js';
import { isPassing } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { BatchLanes } from '../batch-lanes.js';
import { LeaderMemory } from '../memory/leader-memory.service.js';
import { HeldUpdates } from './held-updates.service.js';
import type { Report } from './report.js';
import { ReturnedTasks } from './returned-tasks.service.js';
import { StatusFollowUp } from './status-follow-up.service.js';
import { ReturnsNotLocked, StatusApplier, type AppliedReports } from './status-applier.service.js';
import { AgentCursorRepository } from './agent-cursor.repository.js';

export const updatesPerTransaction = 500;

/** Takes what machines report and what the scheduler concludes about tasks. */
@Injectable()
export class StatusUpdates {
  private readonly lanes = new BatchLanes<StatusUpdate>(updatesPerTransaction, 2, (updates) => this.store(updates));

  constructor(
    private readonly db: Database,
    private readonly applier: StatusApplier,
    private readonly cursors: AgentCursorRepository,
    private readonly held: HeldUpdates,
    private readonly returned: ReturnedTasks,
    private readonly memory: LeaderMemory,
    private readonly clock: Clock,
    private readonly followUp: StatusFollowUp,
  ) {}

  /** Number of reported updates that wait for their transaction. */
  get backlog(): number {
    return this.lanes.backlog;
  }

  /** Updates of one agent, in the order of their numbers. Resolves when they are stored. */
  async reported(updates: readonly StatusUpdate[]): Promise<void> {
    for (const batch of slices(updates.map(storable))) await this.lanes.add(batch[0]!.agentId, batch);
  }

  /** Concluded by the scheduler itself; where a task has ended already, only what its machine says of it changes anything. */
  async concluded(reports: readonly Report[], returning?: ReadonlySet<string>): Promise<void> {
    for (const batch of slices(reports)) {
      const ofBatch = batch.filter(({ taskId }) => returning?.has(taskId)).map(({ taskId }) => taskId);
      await this.write((_tx, apply) => apply(batch), ofBatch);
    }
  }

  /**
   * Updates that one transaction cannot store are bisected until the one at fault is known; that one alone is held
   * back.
   */
  private store(updates: readonly StatusUpdate[]): Promise<void> {
    return byHalves(updates, {
      work: (some) => this.write((tx, apply) => this.storeIn(tx, some, apply)),
      isAboutItems: (cause) => !isPassing(cause),
      alone: (update, cause) => this.holdBack(update, cause),
    });
  }

  /**
   * Applies reports in one transaction, with whatever else `work` does in it; then what follows. `returning`: tasks known to
   * come back. Where more of them do, nothing is written, and it is done once more with their requests locked.
   */
  async write(
    work: (tx: Transaction, apply: (reports: readonly Report[]) => Promise<AppliedReports>) => Promise<AppliedReports>,
    returning: readonly string[] = [],
  ): Promise<void> {
    const attempt = async (known: ReadonlySet<string>): Promise<AppliedReports> => {
      try {
        if (known.size > 0) await this.returned.askLoadBalancer(known);
        return await this.db.leaderTransaction((tx) =>
          work(tx, (reports) => this.applier.apply(tx, reports, this.clock.now(), known)),
        );
      } catch (cause) {
        if (cause instanceof ReturnsNotLocked) return attempt(new Set([...known, ...cause.taskIds]));
        // Whether it was committed is not known: the rows say which tasks have ended.
        if (isPassing(cause)) this.memory.drop();
        throw cause;
      }
    };
    const applied = await attempt(new Set(returning));
    await this.followUp.follow(applied);
  }

  /** Updates that were applied before are left out; the cursor of each agent is stored with its reports. */
  private async storeIn(
    tx: Transaction,
    updates: readonly StatusUpdate[],
    apply: (reports: readonly Report[]) => Promise<AppliedReports>,
  ): Promise<AppliedReports> {
    const fresh = await this.notYetApplied(tx, updates);
    const waiting = new Set(fresh.filter(({ taskId }) => this.held.has(taskId)));
    await this.held.append(tx, [...waiting]);
    // One without a slave is about no task that was ever launched.
    const reports = fresh.filter((update) => update.slaveId !== '' && !waiting.has(update));
    const applied = await apply(reports);
    await this.saveCursors(tx, fresh);
    return applied;
  }

  private async holdBack(update: StatusUpdate, cause: unknown): Promise<void> {
    await this.db.leaderTransaction(async (tx) => {
      await this.held.hold(tx, update, cause);
      await this.saveCursors(tx, [update]);
    });
  }

  private async notYetApplied(tx: Transaction, updates: readonly StatusUpdate[]): Promise<StatusUpdate[]> {
    const byAgent = groupBy(updates, ({ agentId }) => agentId);
    const cursors = await this.cursors.findMany(tx, [...byAgent.keys()]);
    return [...byAgent].flatMap(([agentId, ofAgent]) => {
      const cursor = cursors.get(agentId);
      return ofAgent
        .filter(
          ({ incarnation, number }) => number === 0 || cursor?.incarnation !== incarnation || number > cursor.number,
        )
        .toSorted((a, b) => a.number - b.number);
    });
  }

  /** The last update per agent counts, as they come in the order of their numbers; those with 0 are not numbered. */
  private async saveCursors(tx: Transaction, updates: readonly StatusUpdate[]): Promise<void> {
    const last = new Map(updates.filter(({ number }) => number > 0).map((update) => [update.agentId, update]));
    await this.cursors.save(tx, [...last.values()]);
  }
}

function* slices<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let first = 0; first < items.length; first += updatesPerTransaction) {
    yield items.slice(first, first + updatesPerTransaction);
  }
}

/** The text of a task may hold anything. */
function storable(update: StatusUpdate): StatusUpdate {
  const { message, shellCommand, program } = update;
  if ([message, shellCommand?.message, program?.message].every((text) => isStorable(text ?? ''))) return update;
  const clean = (text: string | undefined) => text && storableText(text);
  return {
    ...update,
    message: clean(message),
    shellCommand: shellCommand && { ...shellCommand, message: clean(shellCommand.message) },
    program: program && { ...program, message: clean(program.message) },
  };
}
