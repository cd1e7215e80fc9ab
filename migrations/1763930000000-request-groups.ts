import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Requests that belong together, such as those of one product. Members need not exist, so nothing refers to them. */
export class RequestGroups1763930000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE request_group (
      id text PRIMARY KEY,
      request_ids text[] NOT NULL,
      metadata jsonb NOT NULL)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE request_group`);
  }
}
