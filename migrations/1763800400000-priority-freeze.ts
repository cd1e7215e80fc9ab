import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The priority freeze in force: at most one. */
export class PriorityFreeze1763800400000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // kill_wanted is the order to kill what runs below the level: taken back once that is done.
    await q.query(`CREATE TABLE priority_freeze (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      minimum_priority_level double precision NOT NULL,
      kill_tasks boolean NOT NULL,
      kill_wanted boolean NOT NULL,
      message text,
      action_id text NOT NULL,
      user_name text,
      started_at timestamptz NOT NULL,
      duration_millis bigint)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE priority_freeze`);
  }
}
