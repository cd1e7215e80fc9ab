import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How many requests a group has is counted before it gets another one. */
export class RequestsByGroup1766275200000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE INDEX request_by_group ON request ((document->>'group'))`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX request_by_group');
  }
}
