import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The cleaner looks for bouncing requests at every pass: there are few, and their documents need not be passed over. */
export class BouncingRequests1763950000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE INDEX request_bouncing ON request (id) WHERE bouncing`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP INDEX request_bouncing`);
  }
}
