import type { Request, Response } from 'express';
import type { User } from '../../core/authorization/index.js';
import type { EventType } from '../../core/model/event.js';
import { type EventPage, type NumberedEvent, recordOf } from './event-page.js';
import type { EventFilter } from './event-sights.service.js';

/** The events that a client subscribes to; empty: all. */
export interface EventWish {
  types: readonly EventType[];
  requestIds: readonly string[];
}

/** The part of a page that is sent in one piece. */
export interface Slice {
  bytes: Buffer;
  /** Number of the last event that was looked at. */
  upTo: number;
}

export type StreamEnd = 'UNAUTHENTICATED' | 'STOPPING';

/**
 * One client. Holds no events: what it cannot be sent yet stays in the database, and its place is a number. So what a client
 * costs that reads slowly, or not at all, is `maxBuffered` and one piece of the same size.
 */
export class EventStream {
  private readonly types: ReadonlySet<string>;
  private readonly requestIds: ReadonlySet<string>;
  /** Streams that are shown the same are sent the same bytes. */
  readonly likeness: string;
  /** It is being brought up to what was told already. */
  isCatchingUp = false;
  /** Time at which the identity of its reader was checked last. */
  identifiedAt = performance.now();
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

  /** Sent, and not read yet. */
  get waitingBytes(): number {
    return this.response.writableLength;
  }

  /** As much waits for it as may. */
  get isFull(): boolean {
    return this.waitingBytes > this.maxBuffered;
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

  /**
   * Sends the events of a page that lie beyond the cursor and are for the client, as much as may be sent in one piece.
   * `shared`: makes the slice once for all streams like it.
   */
  send(page: EventPage, sight: EventFilter, shared: (make: () => Slice) => Slice): void {
    if (this.cursor < page.forgottenUpTo) {
      this.cursor = page.forgottenUpTo;
      this.write(resetAt(page.forgottenUpTo));
    }
    const { bytes, upTo } = shared(() => this.slice(page, sight));
    this.cursor = upTo;
    if (bytes.length > 0) this.write(bytes);
  }

  private slice(page: EventPage, sight: EventFilter): Slice {
    const records: Buffer[] = [];
    let length = 0;
    for (const each of page.events) {
      if (each.number <= this.cursor || !this.wants(each) || !sight(each)) continue;
      length += each.record.length;
      if (length > this.maxBuffered && records.length > 0) {
        return { bytes: Buffer.concat(records), upTo: each.number - 1 };
      }
      records.push(each.record);
    }
    return { bytes: Buffer.concat(records), upTo: page.upTo };
  }

  /**
   * Tells the client that the events it asked for are not there, or not any more: it goes on from here, and has to read
   * the present state itself.
   */
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
