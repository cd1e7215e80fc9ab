import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the event stream tells: an event is written in the transaction of the change that it tells of. */
export class LiveEvents1765520000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // One row per statement that wrote, however many changes it was about: batches of status updates are a hot path.
    // Rows become visible in the order of their commits, not of their ids. So the number that streams go by is given after the
    // commit, by one transaction after the other: that of the last event in the row, counted over all events.
    await q.query(`CREATE TABLE live_event (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      written_at timestamptz NOT NULL,
      count integer NOT NULL CHECK (count > 0),
      events text NOT NULL,
      number bigint)`);
    // A batch is written once and forgotten soon: packing it would cost more than it saves.
    await q.query(`ALTER TABLE live_event ALTER COLUMN events SET STORAGE EXTERNAL`);
    await q.query(`CREATE UNIQUE INDEX live_event_by_number ON live_event (number) WHERE number IS NOT NULL`);
    await q.query(`CREATE INDEX live_event_without_number ON live_event (id) WHERE number IS NULL`);
    // The newest number, which goes on when all events are forgotten.
    await q.query(`CREATE TABLE live_event_count (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      last_number bigint NOT NULL)`);
    await q.query(`INSERT INTO live_event_count (last_number) VALUES (0)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE live_event_count, live_event`);
  }
}
