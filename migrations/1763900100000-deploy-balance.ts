import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the load balancer was asked for by a deploy in progress, and how the deploy is to end while it is undone. */
export class DeployBalance1763900100000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE pending_deploy ADD COLUMN balance jsonb, ADD COLUMN ending jsonb');
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE pending_deploy DROP COLUMN balance, DROP COLUMN ending');
  }
}
