import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How many times of its schedule passed without a run: a run took longer, or its end was told late. */
export class SkippedRuns1766100000002 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE deploy_statistics ADD COLUMN skipped_runs integer NOT NULL DEFAULT 0`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE deploy_statistics DROP COLUMN skipped_runs`);
  }
}
