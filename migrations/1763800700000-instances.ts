import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The instances of this service, each in a row that it writes itself, so that any of them can show all. */
export class Instances1763800700000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // epoch: the one it leads in. A former leader that died is told from the present one by comparing it with leader_epoch.
    await q.query(`CREATE TABLE instance (
      id text PRIMARY KEY,
      epoch bigint,
      status_delay_millis bigint,
      document jsonb NOT NULL,
      written_at timestamptz NOT NULL)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE instance`);
  }
}
