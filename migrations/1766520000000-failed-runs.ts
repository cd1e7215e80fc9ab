import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The number of runs of a deploy that failed in a row, since one succeeded or its request was paused for it. */
export class FailedRuns1766520000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE deploy_statistics ADD COLUMN failed_runs integer NOT NULL DEFAULT 0`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE deploy_statistics DROP COLUMN failed_runs`);
  }
}
