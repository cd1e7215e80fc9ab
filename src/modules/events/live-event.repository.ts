import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { WrittenEvent } from '../../core/model/event.js';
import { Clock } from '../../platform/clock.js';
import { afterCommit } from '../../platform/database/after-commit.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { Wake } from '../../platform/wake/wake.js';

/** Events that were written together. */
export interface EventBatch {
  /** Of its first event; that of the second is greater by one, and so on. */
  first: number;
  events: WrittenEvent[];
}

/** A change of a thousand tasks is several rows, so that no reader has to take it in one piece. */
const eventsPerRow = 500;
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
  async add(tx: EntityManager, events: readonly WrittenEvent[]): Promise<void> {
    if (events.length === 0) return;
    const parts = Array.from({ length: Math.ceil(events.length / eventsPerRow) }, (_, index) =>
      events.slice(index * eventsPerRow, (index + 1) * eventsPerRow),
    );
    await tx.query(
      `INSERT INTO live_event (written_at, count, events) SELECT $1, count, events
       FROM unnest($2::integer[], $3::text[]) WITH ORDINALITY AS e (count, events, position) ORDER BY position`,
      [new Date(this.clock.now()), parts.map(({ length }) => length), parts.map((part) => JSON.stringify(part))],
    );
    afterCommit(tx, this.tell);
  }

  /** How many events there ever were, how many of them are kept, and since when, in epoch milliseconds. */
  async counts(tx: EntityManager): Promise<{ total: number; kept: number; since: number | undefined }> {
    const [found] = await rows<{ total: number; kept: number; since: Date | null }>(
      tx,
      `SELECT (SELECT last_number FROM live_event_count) + coalesce(sum(count) FILTER (WHERE number IS NULL), 0)::bigint AS total,
         coalesce(sum(count), 0)::bigint AS kept, min(written_at) AS since FROM live_event`,
    );
    const { total, kept, since } = found!;
    return { total: Number(total ?? 0), kept: Number(kept), since: toMillis(since) };
  }

  async hasUnnumbered(tx: EntityManager): Promise<boolean> {
    return (await rows(tx, 'SELECT 1 FROM live_event WHERE number IS NULL LIMIT 1')).length > 0;
  }

  /**
   * Gives numbers to what was committed since the last time, and answers the newest one. A row that is seen later gets a greater
   * number, so a reader that has come to a number misses nothing below it. Of changes of one record, which exclude each other,
   * the later one is seen later or has the greater id. One transaction after the other: the lock is held until the commit.
   */
  async giveNumbers(tx: EntityManager): Promise<number> {
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
  async after(tx: EntityManager, number: number, most: number): Promise<EventBatch[]> {
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

  /** Forgets what was written before `since`, and all but the newest `most` events. Answers how many rows went. */
  async forget(tx: EntityManager, since: Date, most: number): Promise<number> {
    const last = await this.giveNumbers(tx);
    const gone = await rows(
      tx,
      `DELETE FROM live_event WHERE id = ANY (ARRAY(SELECT id FROM live_event
         WHERE written_at < $1 OR number <= $2 ORDER BY number LIMIT ${removedAtOnce})) RETURNING 1`,
      [since, last - most],
    );
    return gone.length;
  }
}
