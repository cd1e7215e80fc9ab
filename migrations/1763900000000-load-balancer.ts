import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the load balancer was told about tasks, and what it still has to be told. */
export class LoadBalancer1763900000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // The newest update per task and kind. Without a document it was forgotten, so that the task can be told about anew:
    // under higher attempt numbers, for a load balancer answers for an id that it knows without doing anything.
    await q.query(`CREATE TABLE load_balancer_record (
      task_id text NOT NULL,
      kind text NOT NULL CHECK (kind IN ('ADD', 'REMOVE')),
      attempts_before integer NOT NULL DEFAULT 0,
      document jsonb,
      PRIMARY KEY (task_id, kind))`);
    // Tasks that have ended, or are to be killed, and may still be known to the load balancer.
    await q.query(`CREATE TABLE load_balancer_removal (
      task_id text PRIMARY KEY,
      request_id text NOT NULL,
      created_at timestamptz NOT NULL)`);
    await q.query(`CREATE INDEX load_balancer_removal_by_request ON load_balancer_removal (request_id)`);
    // Requests that are gone, whose service goes from the load balancer, too.
    await q.query(`CREATE TABLE load_balancer_deletion (
      request_id text PRIMARY KEY,
      groups text[] NOT NULL,
      service_base_path text,
      created_at timestamptz NOT NULL,
      document jsonb)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE load_balancer_deletion, load_balancer_removal, load_balancer_record`);
  }
}
