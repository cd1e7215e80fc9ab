import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Further resources that a task takes from its machine, such as GPUs: counts by name. */
export class ExtendedResources1766815000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE task ADD COLUMN extended jsonb`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE task DROP COLUMN extended`);
  }
}
