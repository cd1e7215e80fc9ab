import { Injectable } from '@nestjs/common';
import { payloadKinds } from '../../../core/history/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { Wake } from '../../../platform/wake/wake.js';
import { readPayload } from '../old-payloads.js';
import { HistoryBackfillRepository, type BackfillProgress, type BackfillRun } from './history-backfill.repository.js';

/** A batch is one transaction of the leader, which may not take long. */
const maxBatchSize = 1_000;

/** Turns the payloads of an older installation into JSON: batch by batch, each with its progress in one transaction. */
@Injectable()
export class HistoryBackfill {
  constructor(
    private readonly db: Database,
    private readonly store: HistoryBackfillRepository,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  /** Asks the leader for a run. While one is under way, nothing changes. */
  async start(batchSize: number): Promise<void> {
    await this.db.transaction((tx) =>
      this.store.begin(tx, Math.min(batchSize, maxBatchSize), new Date(this.clock.now())),
    );
    this.wake.signal('history-backfill');
  }

  progress(): Promise<BackfillProgress> {
    return this.store.progress(this.db.pool);
  }

  /** One batch. false: there is nothing to do. */
  step(): Promise<boolean> {
    return this.db.leaderTransaction(async (tx) => {
      const run = await this.store.running(tx);
      if (!run) return false;
      await this.convertNext(tx, run);
      return true;
    });
  }

  private async convertNext(tx: Transaction, run: BackfillRun): Promise<void> {
    const found = await this.store.next(tx, run);
    const last = found.at(-1);
    if (!last) return this.turnToNextKind(tx, run);
    const readable: { key: string[]; document: object }[] = [];
    const unreadable: { key: string[]; reason: string }[] = [];
    for (const { key, bytes } of found) {
      const payload = readPayload(run.kind, bytes);
      if (payload.kind === 'read') readable.push({ key, document: payload.document });
      else unreadable.push({ key, reason: payload.reason });
    }
    const converted = await this.store.convert(tx, run.kind, readable);
    await this.store.list(tx, run.kind, unreadable, new Date(this.clock.now()));
    await this.store.advance(tx, run, { position: last.key, converted, unreadable: unreadable.length });
  }

  private async turnToNextKind(tx: Transaction, run: BackfillRun): Promise<void> {
    const next = payloadKinds[payloadKinds.indexOf(run.kind) + 1];
    if (next) await this.store.turnTo(tx, run, next);
    else await this.store.finish(tx, run, new Date(this.clock.now()));
  }
}

/** A new leader goes on, at the latest after this time, with what the former one had begun. */
const everyMs = 10_000;
/** A pass ends after this time and the next one begins at once, so that stopping the pollers takes no longer. */
const passMillis = 1_000;

/** Works through a backfill that was asked for, on the leader: one run at a time, whatever instance was asked. */
@Injectable()
export class HistoryBackfillPoller {
  constructor(
    private readonly backfill: HistoryBackfill,
    private readonly clock: Clock,
    pollers: Pollers,
  ) {
    pollers.register({
      name: 'history-backfill',
      everyMs,
      wakeOn: ['history-backfill'],
      pass: (now) => this.pass(now),
    });
  }

  private async pass(now: number): Promise<number | undefined> {
    while (await this.backfill.step()) {
      if (this.clock.now() >= now + passMillis) return this.clock.now();
    }
    return undefined;
  }
}
