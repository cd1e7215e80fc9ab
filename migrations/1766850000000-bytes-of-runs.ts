import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Bytes of waiting runs, of which a group may have so many: the leader keeps their documents in memory. */
export class BytesOfRuns1766850000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const table of ['pending_task', 'pending_request']) {
      await q.query(`ALTER TABLE ${table} ADD COLUMN bytes integer NOT NULL DEFAULT 0`);
      await q.query(`UPDATE ${table} SET bytes = octet_length(document::text)`);
    }
  }
  async down(q: QueryRunner): Promise<void> {
    for (const table of ['pending_task', 'pending_request']) await q.query(`ALTER TABLE ${table} DROP COLUMN bytes`);
  }
}
