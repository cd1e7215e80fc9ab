import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Runs that turn the payloads of an older installation into JSON, and the rows that cannot be read. */
export class HistoryBackfill1763920000001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // The position is committed together with the rows before it, so a run goes on exactly where a crash ended it.
    await q.query(`CREATE TABLE history_backfill (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      batch_size integer NOT NULL CHECK (batch_size > 0),
      started_at timestamptz NOT NULL,
      finished_at timestamptz,
      kind text NOT NULL DEFAULT 'TASK',
      position text[] NOT NULL DEFAULT '{}',
      tasks_converted bigint NOT NULL DEFAULT 0,
      requests_converted bigint NOT NULL DEFAULT 0,
      deploys_converted bigint NOT NULL DEFAULT 0,
      unreadable bigint NOT NULL DEFAULT 0)`);
    // One run at a time, whatever instance is asked.
    await q.query(
      `CREATE UNIQUE INDEX history_backfill_running ON history_backfill ((true)) WHERE finished_at IS NULL`,
    );
    // The rows themselves stay where they are, with their bytes; source is kept of a row that no table of ours could take.
    await q.query(`CREATE TABLE unreadable_history (
      kind text NOT NULL,
      key text NOT NULL,
      reason text NOT NULL,
      found_at timestamptz NOT NULL,
      source jsonb,
      PRIMARY KEY (kind, key))`);
    // What is left to do. No row of ours is ever in these, so they cost nothing.
    await q.query(`CREATE INDEX task_history_unconverted ON task_history (request_id, task_id)
      WHERE bytes IS NOT NULL AND data IS NULL AND NOT purged`);
    await q.query(`CREATE INDEX request_history_unconverted ON request_history (request_id, created_at, event_type)
      WHERE bytes IS NOT NULL AND request IS NULL`);
    await q.query(`CREATE INDEX deploy_history_unconverted ON deploy_history (request_id, deploy_id)
      WHERE bytes IS NOT NULL AND data IS NULL`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP INDEX deploy_history_unconverted, request_history_unconverted, task_history_unconverted`);
    await q.query(`DROP TABLE unreadable_history, history_backfill`);
  }
}
