import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deploys that are switched off for all but some groups. */
export class DeployFreezes1766790000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE disabled_action ADD COLUMN except_groups text[]`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE disabled_action DROP COLUMN except_groups`);
  }
}
