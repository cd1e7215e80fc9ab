import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Health checks of thousands of tasks: results that are bounded in number, and their deploys found without being read. */
export class HealthcheckBounds1763900300000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Results that count toward the retries and were dropped because there were too many of them.
    await q.query(`ALTER TABLE task ADD COLUMN healthchecks_dropped integer NOT NULL DEFAULT 0`);
    // "Which deploys have a health check over HTTP" is asked several times a second, and most have none.
    await q.query(`CREATE INDEX deploy_history_checked ON deploy_history (request_id, deploy_id)
      WHERE data #> '{deploy,healthcheck}' IS NOT NULL AND data #> '{deploy,healthcheck,healthcheckResultFilePath}' IS NULL`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP INDEX deploy_history_checked`);
    await q.query(`ALTER TABLE task DROP COLUMN healthchecks_dropped`);
  }
}
