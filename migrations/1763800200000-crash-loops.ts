import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Crash loops: in which ways the active deploys of requests fail, or failed a while ago. */
export class CrashLoops1763800200000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE crash_loop (
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      loop_type text NOT NULL,
      started_at timestamptz NOT NULL,
      ended_at timestamptz,
      PRIMARY KEY (request_id, deploy_id, loop_type, started_at))`);
    // A deploy is in a loop of a kind, or it is not: never twice at once.
    await q.query(
      `CREATE UNIQUE INDEX crash_loop_open ON crash_loop (request_id, deploy_id, loop_type) WHERE ended_at IS NULL`,
    );
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE crash_loop`);
  }
}
