import type { Request, Response } from 'express';
import type { User } from '../../core/authorization/index.js';
import type { EventType } from '../../core/model/event.js';
import { type EventPage, type NumberedEvent, recordOf } from './event-page.js';
import type { Sight } from './event-sights.service.js';

/** What a client wants to hear of; empty: everything. */
export interface EventWish {
  types: readonly EventType[];
  requestIds: readonly string[];
}

export type StreamEnd = 'UNAUTHENTICATED' | 'STOPPING';

/**
 * One client. Holds no events: what it cannot be sent yet stays in the database, and its place is a number. So what a client
 * costs that reads slowly, or not at all, is bounded by one page beyond `maxBuffered`.
 */
export class EventStream {
  private readonly types: ReadonlySet<string>;
  private readonly requestIds: ReadonlySet<string>;
  /** Streams that are shown the same are sent the same bytes. */
  readonly likeness: string;
  /** It is being brought up to what was told already. */
  isCatchingUp = false;
  private sentAt = performance.now();
  private stuckSince: number | undefined;
  private isOver = false;

  constructor(
    readonly request: Request,
    private readonly response: Response,
    public user: User,
    wish: EventWish,
    /** Number of the last event that it was sent, or that is not for it. */
    public cursor: number,
    private readonly maxBuffered: number,
    drained: () => void,
  ) {
    this.types = new Set(wish.types);
    this.requestIds = new Set(wish.requestIds);
    this.likeness = JSON.stringify([wish.types.toSorted(), wish.requestIds.toSorted()]);
    response.on('drain', () => {
      this.stuckSince = undefined;
      drained();
    });
  }

  /** As much waits for it as may. */
  get isFull(): boolean {
    return this.response.writableLength > this.maxBuffered;
  }

  get isOpen(): boolean {
    return !this.isOver && !this.response.destroyed;
  }

  /** Since when it has been full, in milliseconds. */
  stuckMillis(now: number): number {
    if (!this.isFull) this.stuckSince = undefined;
    else this.stuckSince ??= now;
    return this.stuckSince === undefined ? 0 : now - this.stuckSince;
  }

  wants({ event, requestId }: NumberedEvent): boolean {
    if (this.types.size > 0 && !this.types.has(event.type)) return false;
    return this.requestIds.size === 0 || (requestId !== undefined && this.requestIds.has(requestId));
  }

  /** What of a page that lies beyond its cursor is for it. `shared`: makes what others like it are sent only once. */
  send(page: EventPage, sight: Sight, shared: (make: () => Buffer) => Buffer): void {
    const after = this.cursor;
    this.cursor = page.upTo;
    if (page.isTorn) this.write(resetAt(page.upTo - page.events.length));
    const made = shared(() => {
      const shown = page.events.filter((each) => each.number > after && this.wants(each) && sight(each));
      return Buffer.from(shown.map(({ record }) => record).join(''));
    });
    if (made.length > 0) this.write(made);
  }

  /** What it asked for is not there, or not any more: it goes on from here, and has to look for itself what is the case. */
  reset(cursor: number): void {
    this.cursor = cursor;
    this.write(resetAt(cursor));
  }

  /** Says where it is, so that a client that is cut off need not go back to the last event that was for it. */
  beat(now: number, everyMillis: number): void {
    if (now - this.sentAt < everyMillis || this.isFull) return;
    this.write(`: alive\nid: ${this.cursor}\n\n`);
  }

  end(reason: StreamEnd): void {
    if (!this.isOpen) return;
    this.write(recordOf('end', this.cursor, { reason }));
    this.isOver = true;
    this.response.end();
    // One that reads nothing would keep the connection.
    if (this.response.writableLength > 0) setTimeout(() => this.cut(), 1_000).unref();
  }

  cut(): void {
    this.isOver = true;
    this.response.destroy();
  }

  private write(chunk: Buffer | string): void {
    if (!this.isOpen) return;
    this.sentAt = performance.now();
    this.response.write(chunk);
  }
}

const resetAt = (cursor: number): string =>
  recordOf('reset', cursor, { message: 'Some events before this one are not kept any more: read again what you show' });
