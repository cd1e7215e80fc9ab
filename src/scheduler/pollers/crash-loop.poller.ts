import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { CrashLoopStore } from '../../modules/requests/crash-loops/crash-loop-store.service.js';
import { RequestStore } from '../../modules/requests/request-store.service.js';
import { WebhookOutbox } from '../../modules/webhooks/webhook-outbox.service.js';
import { Database } from '../../platform/database/database.js';
import { NotLeaderError } from '../../platform/leadership/leadership.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { Wake } from '../../platform/wake/wake.js';
import { CrashLoopReviews } from './crash-loop-reviews.service.js';

/** Requests looked at together: their failures are read at once, up to fifty of each. */
const requestsPerLook = 100;

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
    private readonly requests: RequestStore,
    private readonly reviews: CrashLoopReviews,
    private readonly loops: CrashLoopStore,
    private readonly outbox: WebhookOutbox,
    private readonly wake: Wake,
  ) {
    pollers.register({ name: 'crash-loops', everyMs: 60_000, pass: (now) => this.runOnce(now) });
  }

  async runOnce(now: number): Promise<void> {
    const candidates = await this.reviews.candidates(this.db.manager);
    for (let first = 0; first < candidates.length; first += requestsPerLook) {
      const seen = await this.requests.findMany(this.db.manager, candidates.slice(first, first + requestsPerLook));
      for (const requestId of (await this.reviews.review(this.db.manager, seen, now)).keys()) {
        await this.write(requestId, now);
      }
    }
  }

  private async write(requestId: string, now: number): Promise<void> {
    try {
      await this.db.leaderTransaction((tx) => this.reviewLocked(tx, requestId, now));
      this.wake.signal('webhooks');
    } catch (cause) {
      if (cause instanceof NotLeaderError) throw cause;
      // The others are still looked at.
      this.log.error(`Crash loops of request '${requestId}' are stuck: ${String(cause)}`, cause);
    }
  }

  /** A request that somebody holds right now waits for the next pass. */
  private async reviewLocked(tx: EntityManager, requestId: string, now: number): Promise<void> {
    const review = (await this.reviews.review(tx, await this.requests.lockFree(tx, [requestId]), now)).get(requestId);
    if (!review) return;
    await this.loops.save(tx, review.changed);
    await this.loops.remove(tx, review.forgotten);
    await this.outbox.crashLoops(tx, review.changed);
  }
}
