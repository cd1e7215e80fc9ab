import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Times at which deploys of the requests of a group start. */
export class GroupDeployWindows1766820000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Windows of RFC 5545 rules without a start count from the time at which they were saved first.
    await q.query(`ALTER TABLE request_group ADD COLUMN deploy_windows jsonb, ADD COLUMN windows_since timestamptz`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE request_group DROP COLUMN deploy_windows, DROP COLUMN windows_since`);
  }
}
