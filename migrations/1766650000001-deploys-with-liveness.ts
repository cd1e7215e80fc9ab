import type { MigrationInterface, QueryRunner } from 'typeorm';

/** "Which deploys ask for liveness" is asked every few seconds, and their documents are large. */
export class DeploysWithLiveness1766650000001 implements MigrationInterface {
  transaction = false;
  async up(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX CONCURRENTLY IF EXISTS deploy_history_alive');
    await q.query(`CREATE INDEX CONCURRENTLY deploy_history_alive ON deploy_history (request_id, deploy_id)
      WHERE data #> '{deploy,healthcheck,liveness}' IS NOT NULL`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX deploy_history_alive');
  }
}
