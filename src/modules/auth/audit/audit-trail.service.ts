import { Inject, Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationShutdown } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { hasPassed } from '../../../core/elapsed.js';
import { Clock } from '../../../platform/clock.js';
import { outsideOfCalls } from '../../../platform/database/permits.js';
import { isPassing } from '../../../platform/database/database-errors.js';
import { Database } from '../../../platform/database/database.js';
import { ListPage, type KeysetPage } from '../../../platform/database/keyset.js';
import { SchedulerError } from '../../../platform/errors.js';
import { Metrics } from '../../../platform/metrics/metrics.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { RecentAnswers } from '../recent-answers.js';
import { entryOf } from './audit-entry.js';
import { AuditRepository, type AuditEntry, type AuditFilter, type FoundEntry } from './audit.repository.js';

const writtenEveryMillis = 250;
const againAfterMillis = 2_000;
const batchSize = 500;
const waitingAtMost = 10_000;
/** Calls of which it is not known who made them leave this much room to the others. */
const unknownAtMost = waitingAtMost / 2;
const repeatedAtMost = 5_000;
const cleanedEveryMillis = 3_600_000;
const removedAtOnce = 10_000;
const key = /^\d{1,18} \d{1,18}$/;

interface Waiting {
  entry: AuditEntry;
  /** By the monotonic clock. */
  since: number;
}

/** Keeps who asked for what. No call waits for it: entries are written in batches, after the answers. */
@Injectable()
export class AuditTrail implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly log = new Logger(AuditTrail.name);
  private readonly repeated = new RecentAnswers<undefined>(repeatedAtMost);
  private waiting: Waiting[] = [];
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private lost = 0;
  private isLosing = false;
  private isFailing = false;

  constructor(
    private readonly db: Database,
    private readonly store: AuditRepository,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
    metrics: Metrics,
    pollers: Pollers,
  ) {
    metrics.counter('muster_audit_entries_lost_total', 'Calls that the audit trail has no entry of', [], (counter) =>
      counter.inc(this.lost),
    );
    pollers.register({ name: 'audit-cleaner', everyMs: cleanedEveryMillis, pass: () => this.clean() });
  }

  /** Before everything else, so that no answer is missed. */
  readonly watch = (request: Request, response: Response, next: NextFunction): void => {
    if (request.path.startsWith('/api/')) response.once('close', () => this.note(request, response));
    next();
  };

  /** Removes what is old, and what is more than the settings allow. */
  async clean(): Promise<void> {
    const { auditRetentionDays: days, auditMaxRows: rowsKept } = this.settings;
    while (
      (await this.db.leaderTransaction((tx) => this.store.removeOlder(tx, days, removedAtOnce))) === removedAtOnce
    );
    while (
      (await this.db.leaderTransaction((tx) => this.store.removeBeyond(tx, rowsKept, removedAtOnce))) === removedAtOnce
    );
  }

  /** The newest first. `page.after`: the `key` of an entry, as it came from a caller. */
  async find(filter: AuditFilter, page: KeysetPage): Promise<ListPage<FoundEntry>> {
    if (page.after !== '' && !key.test(page.after)) {
      const message = 'cursor must be * or what X-Next-Cursor said';
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'cursor', rule: 'cursor', message }]);
    }
    const found = await this.store.find(this.db.pool, filter, page);
    return ListPage.of(found, page.limit, (entry) => entry.key);
  }

  /** Twice: calls that were still being answered end in between. */
  beforeApplicationShutdown(): Promise<void> {
    return this.writeAll();
  }

  onApplicationShutdown(): Promise<void> {
    return this.writeAll();
  }

  private note(request: Request, response: Response): void {
    const noted = entryOf(request, response);
    if (!noted) return;
    const { entry, sameAs } = noted;
    if (sameAs) {
      const now = this.clock.now();
      const last = this.repeated.get(sameAs.key);
      if (last && !hasPassed(last.at, sameAs.withinMillis, now)) return;
      this.repeated.put(sameAs.key, undefined, now);
    }
    if (this.waiting.length >= (entry.callerId === null ? unknownAtMost : waitingAtMost)) return this.lose(1);
    this.isLosing = false;
    this.waiting.push({ entry, since: performance.now() });
    if (this.waiting.length >= batchSize && !this.isFailing) this.start();
    else this.startIn(writtenEveryMillis);
  }

  private lose(entries: number): void {
    this.lost += entries;
    if (!this.isLosing) this.log.error('The audit trail cannot be written as fast as calls come: entries are lost');
    this.isLosing = true;
  }

  private startIn(millis: number): void {
    this.timer ??= outsideOfCalls(() => setTimeout(() => this.start(), millis).unref());
  }

  private start(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    // It is no act of the call that it follows, and needs no permit of its caller.
    this.writing ??= outsideOfCalls(() => this.write()).finally(() => (this.writing = undefined));
  }

  private async write(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, batchSize);
      const now = performance.now();
      const aged = batch.map(({ entry, since }) => ({ ...entry, ageMillis: now - since }));
      try {
        await this.db.transaction((tx) => this.store.write(tx, aged));
        this.isFailing = false;
      } catch (cause) {
        if (!this.isFailing) this.log.warn(`The audit trail cannot be written now: ${String(cause)}`);
        this.isFailing = true;
        if (isPassing(cause)) return this.startIn(againAfterMillis);
        this.lose(batch.length);
      }
      this.waiting = this.waiting.slice(batch.length);
    }
  }

  private async writeAll(): Promise<void> {
    await this.writing;
    if (this.db.pool.isOpen) {
      this.start();
      await this.writing;
    }
    clearTimeout(this.timer);
  }
}
