import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deploys: every one ever made (history), the one in progress per request, and counts over its tasks. */
export class Deploys1763700200000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // data = {deploy, deployResult?}. A deploy is history from its first second: its row is written once and completed once.
    await q.query(`CREATE TABLE deploy_history (
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      created_at timestamptz NOT NULL,
      user_name text,
      message text,
      deploy_state text,
      deploy_state_at timestamptz,
      data jsonb,
      bytes bytea,
      CHECK (data IS NOT NULL OR bytes IS NOT NULL),
      PRIMARY KEY (request_id, deploy_id))`);
    await q.query(`CREATE INDEX deploy_history_by_time ON deploy_history (request_id, created_at DESC)`);
    // At most one deploy of a request is in progress: the primary key says so.
    await q.query(`CREATE TABLE pending_deploy (
      request_id text PRIMARY KEY,
      deploy_id text NOT NULL,
      state text NOT NULL,
      progress jsonb,
      updated_request jsonb,
      cancel_user text,
      cancel_requested_at timestamptz,
      update_target_instances integer CHECK (update_target_instances > 0))`);
    // Apart from deploy_history, because it changes with every task that ends.
    await q.query(`CREATE TABLE deploy_statistics (
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      num_tasks integer NOT NULL DEFAULT 0,
      num_success integer NOT NULL DEFAULT 0,
      num_failures integer NOT NULL DEFAULT 0,
      num_sequential_retries integer NOT NULL DEFAULT 0,
      last_finish_at timestamptz,
      last_task_state text,
      average_runtime_millis bigint,
      runtime_samples integer NOT NULL DEFAULT 0,
      average_scheduling_delay_millis bigint,
      failure_events jsonb NOT NULL DEFAULT '[]',
      PRIMARY KEY (request_id, deploy_id))`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE deploy_statistics, pending_deploy, deploy_history`);
  }
}
