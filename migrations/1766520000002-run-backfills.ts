import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Planned times of the past that are run again: what was asked for, and what has become of each time. */
export class RunBackfills1766520000002 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // ended_at null: some of its times wait or run.
    await q.query(`CREATE TABLE run_backfill (
      id text PRIMARY KEY,
      request_id text NOT NULL,
      from_at timestamptz NOT NULL,
      to_at timestamptz NOT NULL,
      concurrency integer NOT NULL CHECK (concurrency > 0),
      newest_first boolean NOT NULL,
      forced boolean NOT NULL,
      skipped integer NOT NULL,
      user_name text,
      message text,
      created_at timestamptz NOT NULL,
      canceled_at timestamptz,
      ended_at timestamptz)`);
    await q.query(`CREATE INDEX run_backfill_by_request ON run_backfill (request_id, created_at)`);
    await q.query(`CREATE INDEX run_backfill_open ON run_backfill (request_id) WHERE ended_at IS NULL`);
    // QUEUED: a run was made of it, which waits or runs.
    await q.query(`CREATE TABLE run_backfill_time (
      backfill_id text NOT NULL,
      scheduled_at timestamptz NOT NULL,
      request_id text NOT NULL,
      run_id text NOT NULL,
      state text NOT NULL,
      task_id text,
      PRIMARY KEY (backfill_id, scheduled_at))`);
    await q.query(`CREATE INDEX run_backfill_time_by_request ON run_backfill_time (request_id, scheduled_at)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE run_backfill, run_backfill_time`);
  }
}
