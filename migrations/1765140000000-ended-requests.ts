import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An id may have had several requests, one after the other. Who may read what is of which of them is asked at each read. */
export class EndedRequests1765140000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE INDEX request_history_ends ON request_history (request_id, created_at)
      WHERE event_type = 'DELETED'`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP INDEX request_history_ends`);
  }
}
