import { Injectable } from '@nestjs/common';
import type { WrittenEvent } from '../../core/model/event.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { Wake } from '../../platform/wake/wake.js';

/** Events that were written together. */
export interface EventBatch {
  /** Number of its first event; that of the second is greater by one, and so on. */
  first: number;
  events: WrittenEvent[];
}

/** A change of a thousand tasks is several rows, so that no reader has to take it in one piece. */
const eventsPerRow = 500;
const lettersPerRow = 131_072;
const numberedAtOnce = 1_000;
const removedAtOnce = 1_000;

/**
 * Events as they are written and read. By hand: batches of status updates write them thousands of times a second, so they are
 * one row per batch, and get their numbers when they are read.
 */
@Injectable()
export class LiveEventRepository {
  private readonly tell = (): void => this.wake.signal('events');

  constructor(
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /** In the transaction of the changes. Streams are told after its commit. */
  async add(tx: Transaction, events: readonly WrittenEvent[]): Promise<void> {
    if (events.length === 0) return;
    const parts = rowsOf(events);
    // Each as a parameter of its own: in an array of texts every quote would be escaped, which costs more than all the rest.
    const values = parts.map((_, index) => `($1, $${index * 2 + 2}, $${index * 2 + 3})`);
    await tx.query(`INSERT INTO live_event (written_at, count, events) VALUES ${values.join(', ')}`, [
      new Date(this.clock.now()),
      ...parts.flatMap(({ count, text }) => [count, text]),
    ]);
    tx.afterCommit(this.tell);
  }

  /** SQL that adds one event as a part of the statement that makes the change: written for each row of `source`. */
  addedTo(tx: Transaction, event: WrittenEvent, source: string, parameters: unknown[]): string {
    tx.afterCommit(this.tell);
    const at = parameters.push(new Date(this.clock.now()));
    const text = parameters.push(JSON.stringify([event]));
    return `INSERT INTO live_event (written_at, count, events) SELECT $${at}::timestamptz, 1, $${text}::text FROM ${source}`;
  }

  /**
   * Counts all events there ever were, and those that are kept, and reads since when they are (epoch milliseconds).
   * Without reading them all.
   */
  async counts(tx: Transaction): Promise<{ total: number; kept: number; since: number | undefined }> {
    const [found] = await rows<{ total: number; kept: number; since: Date | null }>(
      tx,
      `SELECT c.last_number + n.count AS total, c.last_number + n.count - coalesce(f.number - f.count, c.last_number) AS kept,
         coalesce(f.written_at, n.since) AS since
       FROM live_event_count c
       CROSS JOIN (SELECT coalesce(sum(count), 0)::bigint AS count, min(written_at) AS since FROM live_event WHERE number IS NULL) AS n
       LEFT JOIN LATERAL (SELECT number, count, written_at FROM live_event WHERE number IS NOT NULL ORDER BY number LIMIT 1) AS f ON true`,
    );
    const { total, kept, since } = found ?? { total: 0, kept: 0, since: null };
    return { total: Number(total), kept: Number(kept), since: toMillis(since) };
  }

  async hasUnnumbered(tx: Queryable): Promise<boolean> {
    return (await rows(tx, 'SELECT 1 FROM live_event WHERE number IS NULL LIMIT 1')).length > 0;
  }

  /** The newest number that was given. */
  async newest(tx: Queryable): Promise<number> {
    const [count] = await rows<{ last_number: number }>(tx, 'SELECT last_number FROM live_event_count');
    return Number(count?.last_number ?? 0);
  }

  /**
   * Gives numbers to what was committed since the last time, and answers the newest one. A row that is seen later gets a greater
   * number, so a reader that has come to a number misses nothing below it. Of changes of one record, which exclude each other,
   * the later one is seen later or has the greater id. One transaction after the other: the lock is held until the commit.
   */
  async giveNumbers(tx: Transaction): Promise<number> {
    const [count] = await rows<{ last_number: number }>(
      tx,
      `INSERT INTO live_event_count AS present (last_number) VALUES (0)
       ON CONFLICT (only_row) DO UPDATE SET last_number = present.last_number RETURNING last_number`,
    );
    let last = Number(count!.last_number);
    for (;;) {
      const numbered = await rows<{ number: number }>(
        tx,
        `UPDATE live_event e SET number = n.number FROM (
           SELECT id, $1 + sum(count) OVER (ORDER BY id) AS number FROM (
             SELECT id, count FROM live_event WHERE number IS NULL ORDER BY id LIMIT ${numberedAtOnce}) AS oldest) AS n
         WHERE e.id = n.id RETURNING e.number`,
        [last],
      );
      if (numbered.length === 0) break;
      last = Math.max(...numbered.map(({ number }) => Number(number)));
      if (numbered.length < numberedAtOnce) break;
    }
    await tx.query('UPDATE live_event_count SET last_number = $1', [last]);
    return last;
  }

  /** Batches with numbers beyond this one, in their order; of the first one perhaps only the end is beyond it. */
  async after(tx: Queryable, number: number, most: number): Promise<EventBatch[]> {
    const found = await rows<{ number: number; count: number; events: string }>(
      tx,
      'SELECT number, count, events FROM live_event WHERE number > $1 ORDER BY number LIMIT $2',
      [number, most],
    );
    return found.map((row) => ({
      first: Number(row.number) - row.count + 1,
      events: JSON.parse(row.events) as WrittenEvent[],
    }));
  }

  /**
   * Forgets what was written before `since`, and all but the newest `most` events: in the order of numbers, so that what is kept
   * has no gaps. Answers how many rows went.
   */
  async forget(tx: Transaction, since: Date, most: number): Promise<number> {
    const last = await this.giveNumbers(tx);
    const gone = await rows(
      tx,
      `DELETE FROM live_event WHERE id = ANY (ARRAY(SELECT id FROM live_event
         WHERE number <= $2 OR number < coalesce(
           (SELECT number FROM live_event WHERE number IS NOT NULL AND written_at >= $1 ORDER BY number LIMIT 1), $3)
         ORDER BY number LIMIT ${removedAtOnce})) RETURNING 1`,
      [since, last - most, last + 1],
    );
    return gone.length;
  }
}

/** Halved until each fits. */
function rowsOf(events: readonly WrittenEvent[]): { count: number; text: string }[] {
  if (events.length <= eventsPerRow) {
    const text = JSON.stringify(events);
    if (text.length <= lettersPerRow || events.length === 1) return [{ count: events.length, text }];
  }
  const middle = Math.ceil(events.length / 2);
  return [...rowsOf(events.slice(0, middle)), ...rowsOf(events.slice(middle))];
}
