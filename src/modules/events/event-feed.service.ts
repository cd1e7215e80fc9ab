import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { outsideOfCalls } from '../../platform/database/permits.js';
import { Wake } from '../../platform/wake/wake.js';
import { type EventPage, pageOf } from './event-page.js';
import { LiveEventRepository } from './live-event.repository.js';

/** A batch has at most 500 events, or 128 KB. */
const batchesPerPage = 4;
/** A signal may be lost. */
const lookEveryMillis = 1_000;
/** Clients that come back after a cut ask for about the same. */
const recentPages = 64;
const recentBytes = 16 * 2 ** 20;
const recentMillis = 2_000;
const readsAtOnce = 4;
const restAboveMillis = 5;
const longestRestMillis = 100;

/** From when the first stream begins until the last one has ended. */
class Reading {
  /** The number of the last event that was told. */
  cursor = 0;
  isOver = false;
  isBusy = false;
  isWanted = false;
  failuresInRow = 0;
  readonly recent: { page: EventPage; readAt: number }[] = [];

  constructor(readonly tell: (page: EventPage) => Promise<void>) {}
}

/**
 * Reads the events for all streams of this instance, once: a commit on any instance wakes it. While there is no stream it does
 * nothing at all. Any instance reads; none has to lead.
 */
@Injectable()
export class EventFeed implements OnModuleDestroy {
  private readonly log = new Logger(EventFeed.name);
  private reading: Reading | undefined;
  private begun: Promise<void> | undefined;
  private pass: Promise<void> = Promise.resolve();
  private stop: () => void = () => undefined;
  private reads = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly events: LiveEventRepository,
    private readonly wake: Wake,
  ) {}

  /** The number of the last event that was told. */
  get cursor(): number {
    return this.reading?.cursor ?? 0;
  }

  /** True if there is an event of this number, or was one: another instance may have sent it before this one. */
  async has(number: number): Promise<boolean> {
    return number <= this.cursor || number <= (await this.events.newest(this.db.pool));
  }

  /** From when it resolves on all that is committed is told, page after page, until `rest`. */
  begin(tell: (page: EventPage) => Promise<void>): Promise<void> {
    this.begun ??= this.start(new Reading(tell));
    return this.begun;
  }

  private async start(reading: Reading): Promise<void> {
    this.reading = reading;
    try {
      reading.cursor = await this.giveNumbers();
    } catch (cause) {
      if (!reading.isOver) this.rest();
      throw cause;
    }
    if (reading.isOver) return;
    const look = (): void => this.look(reading);
    const stopListening = this.wake.on('events', look);
    const timer = setInterval(look, lookEveryMillis);
    this.stop = () => {
      stopListening();
      clearInterval(timer);
    };
    look();
  }

  rest(): void {
    this.stop();
    this.stop = () => undefined;
    if (this.reading) this.reading.isOver = true;
    this.reading = undefined;
    this.begun = undefined;
  }

  async onModuleDestroy(): Promise<void> {
    this.rest();
    await this.pass;
  }

  private look(reading: Reading): void {
    reading.isWanted = true;
    if (!reading.isBusy) this.pass = outsideOfCalls(() => this.readOn(reading));
  }

  private async readOn(reading: Reading): Promise<void> {
    reading.isBusy = true;
    while (reading.isWanted && !reading.isOver) {
      reading.isWanted = false;
      try {
        if (await this.events.hasUnnumbered(this.db.pool)) await this.giveNumbers();
        while (await this.readPage(reading));
        reading.failuresInRow = 0;
      } catch (cause) {
        // The timer comes round.
        if (reading.failuresInRow++ === 0) this.log.warn(`Events wait: ${String(cause)}`);
      }
    }
    // In the same turn as the last look at `isWanted`: a signal in between would be lost.
    reading.isBusy = false;
  }

  /** true: there may be more. */
  private async readPage(reading: Reading): Promise<boolean> {
    const batches = await this.events.after(this.db.pool, reading.cursor, batchesPerPage);
    if (batches.length === 0 || reading.isOver) return false;
    const page = pageOf(reading.cursor, Infinity, batches);
    reading.cursor = page.upTo;
    keep(reading.recent, page);
    const begun = performance.now();
    await reading.tell(page);
    // What many streams are told takes as much time again at most: what is committed meanwhile goes out together.
    const took = performance.now() - begun;
    if (took > restAboveMillis) await delay(Math.min(took, longestRestMillis));
    return batches.length === batchesPerPage;
  }

  private giveNumbers(): Promise<number> {
    return outsideOfCalls(() => this.db.transaction((tx) => this.events.giveNumbers(tx)));
  }

  /** The page after this number, as far as it was sent already; pages of the last seconds do not ask the database. */
  next(after: number): EventPage | Promise<EventPage> {
    const kept = this.reading?.recent.find(({ page }) => page.after <= after && after < page.upTo);
    return kept && performance.now() - kept.readAt <= recentMillis ? kept.page : this.read(after);
  }

  private async read(after: number): Promise<EventPage> {
    if (this.reads >= readsAtOnce) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.reads++;
    try {
      const upTo = this.cursor;
      return pageOf(after, upTo, await this.events.after(this.db.pool, after, batchesPerPage));
    } finally {
      this.reads--;
      this.waiting.shift()?.();
    }
  }
}

function keep(recent: Reading['recent'], page: EventPage): void {
  const now = performance.now();
  recent.push({ page, readAt: now });
  let bytes = recent.reduce((sum, each) => sum + each.page.bytes, 0);
  while (recent.length > recentPages || bytes > recentBytes || (recent[0] && now - recent[0].readAt > recentMillis)) {
    bytes -= recent.shift()!.page.bytes;
  }
}
