import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The processes that serve the API for an instance are known by rows of their own. */
export class Workers1765830000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // NULL: an instance. Otherwise the id of the instance that this process belongs to; it is not listed by itself.
    await q.query(`ALTER TABLE instance ADD COLUMN worker_of text`);
  }
  async down(q: QueryRunner): Promise<void> {
    // An older program would list them as instances.
    await q.query(`DELETE FROM instance WHERE worker_of IS NOT NULL`);
    await q.query(`ALTER TABLE instance DROP COLUMN worker_of`);
  }
}
