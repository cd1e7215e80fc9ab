import { Inject, Injectable, Logger } from '@nestjs/common';
import { type CrashLoopReview, findCrashLoops, isObserved, reviewCrashLoops } from '../../core/completion/index.js';
import { groupBy } from '../../core/group-by.js';
import { deployKeyText } from '../../core/model/deploy.js';
import { Rows } from '../../rows.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { crashLoopRules } from '../rules.js';
import { tellFailure } from '../../platform/tell-failure.js';

/** Requests looked at together: their failures are read at once, up to fifty of each. */
const requestsPerPass = 100;

/**
 * Finds deploys whose tasks fail again and again, and writes down when that begins and ends. Nearly every look changes
 * nothing, so it is taken without locks; what it would change is decided once more under the lock on the request.
 */
@Injectable()
export class CrashLoopPoller {
  private readonly log = new Logger(CrashLoopPoller.name);

  constructor(
    pollers: Pollers,
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({ name: 'crash-loops', everyMs: 60_000, pass: (now) => this.runOnce(now) });
  }

  async runOnce(now: number): Promise<void> {
    const candidates = await this.rows.crashLoops.requestsToReview(this.db.pool);
    for (let first = 0; first < candidates.length; first += requestsPerPass) {
      const seen = await this.rows.requests.findMany(this.db.pool, candidates.slice(first, first + requestsPerPass));
      for (const requestId of (await this.review(this.db.pool, seen, now)).keys()) {
        await this.write(requestId, now);
      }
    }
  }

  private async write(requestId: string, now: number): Promise<void> {
    try {
      await this.db.leaderTransaction((tx) => this.reviewLocked(tx, requestId, now));
      this.wake.signal('webhooks');
    } catch (cause) {
      if (concernsAll(cause)) throw cause;
      // The others are still looked at.
      tellFailure(this.log, `Crash loops of request '${requestId}' are stuck`, cause);
    }
  }

  /** A request that another transaction holds right now waits for the next pass. */
  private async reviewLocked(tx: Transaction, requestId: string, now: number): Promise<void> {
    const review = (await this.review(tx, await this.rows.requests.lockFree(tx, [requestId]), now)).get(requestId);
    if (!review) return;
    await this.rows.crashLoops.save(tx, review.changed);
    await this.rows.crashLoops.remove(tx, review.forgotten);
    await this.rows.outbox.crashLoops(tx, review.changed);
  }

  /** Changes to write, by request id; requests with nothing to write are left out. */
  private async review(
    tx: Queryable,
    requests: readonly StoredRequest[],
    now: number,
  ): Promise<Map<string, CrashLoopReview>> {
    const ids = requests.map(({ request }) => request.id);
    const keys = requests.flatMap(({ request, activeDeployId: deployId }) =>
      deployId === undefined ? [] : { requestId: request.id, deployId },
    );
    const counts = await this.rows.deployStatistics.find(tx, keys);
    const stored = groupBy(await this.rows.crashLoops.find(tx, ids), ({ requestId }) => requestId);
    const cleanups = groupBy(await this.rows.taskCleanups.madeFor(tx, ids), ({ requestId }) => requestId);
    const rules = crashLoopRules(this.settings);
    const reviews = requests.map(({ request: { id, requestType }, state, activeDeployId }) => {
      const deploy = {
        requestType,
        failures: counts.get(deployKeyText({ requestId: id, deployId: activeDeployId ?? '' }))?.failureEvents ?? [],
        cleanups: cleanups.get(id) ?? [],
      };
      const found = isObserved(state) ? findCrashLoops(deploy, rules, now) : undefined;
      return [id, reviewCrashLoops(stored.get(id) ?? [], { id, activeDeployId }, found, now)] as const;
    });
    return new Map(reviews.filter(([, { changed, forgotten }]) => changed.length + forgotten.length > 0));
  }
}
