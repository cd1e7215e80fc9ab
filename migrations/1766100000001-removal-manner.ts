import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A removal says how its tasks end: by a kill with its grace, at once, or by themselves. */
export class RemovalManner1766100000001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE request_cleanup ADD COLUMN force boolean, ADD COLUMN wait_for_tasks boolean`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE request_cleanup DROP COLUMN force, DROP COLUMN wait_for_tasks`);
  }
}
