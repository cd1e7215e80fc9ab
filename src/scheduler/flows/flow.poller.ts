import { Inject, Injectable, Logger } from '@nestjs/common';
import type { LostRun } from '../../modules/flows/flow-run.repository.js';
import { FollowUps } from '../../modules/flows/follow-ups.service.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { Wake } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';

const everyMs = 30_000;
const runsPerPass = 500;
const flowsPerTransaction = 500;
const dayMillis = 86_400_000;

/**
 * Looks after runs of flows of which nothing is left although no end was stored: a pause removed what waited of them, or a machine that
 * did not come back had them. And forgets old flows.
 */
@Injectable()
export class FlowPoller {
  private readonly log = new Logger(FlowPoller.name);

  constructor(
    pollers: Pollers,
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly followUps: FollowUps,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({ name: 'flows', everyMs, pass: (now) => this.runOnce(now) });
  }

  async runOnce(now: number): Promise<void> {
    const lost = await this.rows.flowRuns.lost(this.db.pool, runsPerPass);
    for (const requestId of new Set(lost.map((run) => run.requestId))) {
      try {
        await this.db.leaderTransaction((tx) => this.recover(tx, requestId, now));
      } catch (cause) {
        if (concernsAll(cause)) throw cause;
        // The others are still looked at.
        tellFailure(this.log, `Lost runs of request '${requestId}' are stuck`, cause);
      }
    }
    if (lost.length > 0) this.wake.signal('scheduler');
    await this.forget(now);
  }

  /** The lock on the request keeps its queue, its placement and the ends of its tasks as they are. */
  private async recover(tx: Transaction, requestId: string, now: number): Promise<void> {
    const stored = await this.rows.requests.lock(tx, requestId);
    if (!stored) return this.rows.flowRuns.giveUp(tx, [requestId], now);
    for (const run of await this.rows.flowRuns.lost(tx, runsPerPass, requestId)) {
      const last = run.last ?? lastKnown(run, now);
      if (last) await this.followUps.concluded(tx, run, last, now);
      else {
        await this.rows.flowRuns.wait(tx, [run]);
        this.log.warn(`Run '${run.runId}' of request '${requestId}' was in no queue any more, and waits again`);
      }
    }
  }

  private async forget(now: number): Promise<void> {
    const { flowRetentionDays } = this.settings;
    const before = new Date(now - flowRetentionDays * dayMillis);
    let gone: number;
    do {
      gone = await this.db.leaderTransaction((tx) => this.rows.flows.forget(tx, before, flowsPerTransaction));
    } while (gone === flowsPerTransaction);
  }
}

/** Its task is not in the history any more. */
const lastKnown = ({ taskId, state }: LostRun, now: number): LostRun['last'] =>
  taskId === undefined || state === undefined ? undefined : { taskId, state, endedAt: now };
