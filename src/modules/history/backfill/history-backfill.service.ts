import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { payloadKinds } from '../../../core/history/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { rows, toMillis } from '../../../platform/database/sql.js';
import { Wake } from '../../../platform/wake/wake.js';
import { readPayload } from '../old-payloads.service.js';
import { HistoryBackfillStore, type BackfillRun } from './history-backfill-store.service.js';

/** Of the newest run; zeros before the first one. */
export interface BackfillProgress {
  running: boolean;
  /** Epoch milliseconds. */
  startedAt?: number;
  finishedAt?: number;
  tasksConverted: number;
  requestsConverted: number;
  deploysConverted: number;
  /** Rows that it could not read. */
  unreadable: number;
}

type ProgressRow = Omit<BackfillProgress, 'running' | 'startedAt' | 'finishedAt'> & {
  started_at: Date;
  finished_at: Date | null;
};

const nothing = { tasksConverted: 0, requestsConverted: 0, deploysConverted: 0, unreadable: 0 };

/** A batch is one transaction of the leader, which may not take long. */
const maxBatchSize = 1_000;

/** Turns the payloads of an older installation into JSON: batch by batch, each with its progress in one transaction. */
@Injectable()
export class HistoryBackfill {
  constructor(
    private readonly db: Database,
    private readonly store: HistoryBackfillStore,
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

  async progress(): Promise<BackfillProgress> {
    const [newest] = await rows<ProgressRow>(
      this.db.manager,
      `SELECT started_at, finished_at, tasks_converted AS "tasksConverted", requests_converted AS "requestsConverted",
         deploys_converted AS "deploysConverted", unreadable FROM history_backfill ORDER BY id DESC LIMIT 1`,
    );
    if (!newest) return { running: false, ...nothing };
    const { started_at: startedAt, finished_at: finishedAt, ...counts } = newest;
    return {
      running: finishedAt === null,
      startedAt: startedAt.getTime(),
      finishedAt: toMillis(finishedAt),
      ...counts,
    };
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

  private async convertNext(tx: EntityManager, run: BackfillRun): Promise<void> {
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

  private async turnToNextKind(tx: EntityManager, run: BackfillRun): Promise<void> {
    const next = payloadKinds[payloadKinds.indexOf(run.kind) + 1];
    if (next) await this.store.turnTo(tx, run, next);
    else await this.store.finish(tx, run, new Date(this.clock.now()));
  }
}
