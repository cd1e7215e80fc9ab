import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Requests, what waits to be done to them, and what happened to them. */
export class Requests1763700100000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // version rises with every change: a scheduling decision taken on an older version is taken again.
    await q.query(`CREATE TABLE request (
      id text PRIMARY KEY,
      request_type text NOT NULL,
      state text NOT NULL,
      version bigint NOT NULL DEFAULT 1,
      changed_at timestamptz NOT NULL,
      active_deploy_id text,
      pending_deploy_id text,
      bouncing boolean NOT NULL DEFAULT false,
      document jsonb NOT NULL)`);
    // What the cleanup poller still has to do to a request. One per kind: asking twice for the same changes nothing.
    await q.query(`CREATE TABLE request_cleanup (
      request_id text NOT NULL,
      cleanup_type text NOT NULL,
      created_at timestamptz NOT NULL,
      deploy_id text,
      user_name text,
      kill_tasks boolean,
      remove_from_load_balancer boolean,
      skip_healthchecks boolean,
      message text,
      action_id text,
      run_shell_command_before_kill jsonb,
      PRIMARY KEY (request_id, cleanup_type))`);
    // Changes that lapse: pause, scale, bounce, skip-healthchecks of a request; state of a slave or rack.
    await q.query(`CREATE TABLE expiring_action (
      kind text NOT NULL,
      target_id text NOT NULL,
      user_name text,
      started_at timestamptz NOT NULL,
      duration_millis bigint NOT NULL,
      action_id text NOT NULL,
      document jsonb NOT NULL,
      revert jsonb NOT NULL,
      PRIMARY KEY (kind, target_id))`);
    await q.query(`CREATE TABLE request_history (
      request_id text NOT NULL,
      created_at timestamptz NOT NULL,
      event_type text NOT NULL,
      user_name text,
      message text,
      request jsonb,
      bytes bytea,
      CHECK (request IS NOT NULL OR bytes IS NOT NULL),
      PRIMARY KEY (request_id, created_at, event_type))`);
    // The search for request ids by prefix reads this one.
    await q.query(`CREATE INDEX request_history_by_prefix ON request_history (request_id text_pattern_ops)`);
    // The purger reads the oldest first.
    await q.query(`CREATE INDEX request_history_by_time ON request_history (created_at)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE request_history, expiring_action, request_cleanup, request`);
  }
}
