import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Restarts by the policy of a request: each instance has a delay of its own. */
export class InstanceFailures1766650000002 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Failures of an instance in a row, of requests with such a policy alone; a new leader plans the same starts by them.
    await q.query(`CREATE TABLE instance_failure (
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      instance_no integer NOT NULL,
      count integer NOT NULL CHECK (count > 0),
      last_at timestamptz NOT NULL,
      PRIMARY KEY (request_id, deploy_id, instance_no))`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE instance_failure`);
  }
}
