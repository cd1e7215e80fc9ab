import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The runs of a concurrency group are counted before one more is written. */
export class ConcurrencyGroups1766520000001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(
      `CREATE INDEX request_by_concurrency_group ON request ((document->'concurrencyGroup'->>'name'))
       WHERE document ? 'concurrencyGroup'`,
    );
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX request_by_concurrency_group');
  }
}
