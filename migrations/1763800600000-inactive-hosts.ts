import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Hosts on which nothing is to run: slaves that appear on one are decommissioned at once. */
export class InactiveHosts1763800600000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE inactive_host (
      host text PRIMARY KEY,
      marked_at timestamptz NOT NULL)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE inactive_host`);
  }
}
