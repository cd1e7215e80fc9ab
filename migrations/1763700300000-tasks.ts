import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tasks from the wish to run one (pending_request) to its last second. What has ended moves to task_history. */
export class Tasks1763700300000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // entry_key is '' for most types, so one entry waits per deploy; ONEOFF and IMMEDIATE put time and run id in it.
    await q.query(`CREATE TABLE pending_request (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      entry_key text NOT NULL DEFAULT '',
      pending_type text NOT NULL,
      created_at timestamptz NOT NULL,
      run_id text,
      action_id text,
      document jsonb NOT NULL,
      UNIQUE (request_id, deploy_id, entry_key))`);
    await q.query(`CREATE TABLE pending_task (
      id text PRIMARY KEY,
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      instance_no integer NOT NULL CHECK (instance_no > 0),
      pending_type text NOT NULL,
      next_run_at timestamptz NOT NULL,
      created_at timestamptz NOT NULL,
      run_id text,
      delete_requested boolean NOT NULL DEFAULT false,
      document jsonb NOT NULL)`);
    // Every placement pass reads "due, oldest first"; this index is that read.
    await q.query(`CREATE INDEX pending_task_due ON pending_task (next_run_at, id)`);
    await q.query(`CREATE INDEX pending_task_by_request ON pending_task (request_id)`);

    // One narrow row per live task. No index and no predicate of an index touches a column that a status update
    // changes, so those updates stay within the page (HOT). A task is active while ended_at is null.
    await q.query(`CREATE TABLE task (
      task_id text PRIMARY KEY,
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      slave_id text NOT NULL,
      instance_no integer NOT NULL CHECK (instance_no > 0),
      host text NOT NULL,
      rack_id text NOT NULL,
      started_at timestamptz NOT NULL,
      pending_type text NOT NULL,
      run_id text,
      action_id text,
      skip_healthchecks boolean NOT NULL DEFAULT false,
      cpus double precision NOT NULL,
      memory_mb double precision NOT NULL,
      disk_mb double precision NOT NULL,
      ports integer[] NOT NULL,
      incarnation text NOT NULL,
      state text NOT NULL,
      state_at timestamptz NOT NULL,
      sent_at timestamptz,
      answered_at timestamptz,
      running_at timestamptz,
      ended_at timestamptz,
      healthchecks_finished boolean NOT NULL DEFAULT false,
      directory text) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01)`);
    await q.query(`CREATE INDEX task_by_request ON task (request_id)`);
    await q.query(`CREATE INDEX task_by_slave ON task (slave_id)`);
    // The launch document {task, launch}: the Task record and the LaunchSpec: written once, read when the launch is sent and when a task is shown.
    await q.query(`CREATE TABLE task_launch (
      task_id text PRIMARY KEY,
      document jsonb NOT NULL) WITH (autovacuum_vacuum_scale_factor = 0.01)`);
    // The first update per state wins; TASK_CLEANING alone is replaced, keeping the former one in previous.
    await q.query(`CREATE TABLE task_update (
      task_id text NOT NULL,
      state text NOT NULL,
      at timestamptz NOT NULL,
      message text,
      reason text,
      previous jsonb NOT NULL DEFAULT '[]',
      PRIMARY KEY (task_id, state)) WITH (autovacuum_vacuum_scale_factor = 0.01)`);
    await q.query(`CREATE TABLE task_healthcheck (
      task_id text NOT NULL,
      checked_at timestamptz NOT NULL,
      startup boolean NOT NULL,
      status_code integer,
      duration_millis integer,
      response_body text,
      error_message text,
      PRIMARY KEY (task_id, checked_at, startup))`);
    // A task that has to go, and why. The cleanup poller decides when.
    await q.query(`CREATE TABLE task_cleanup (
      task_id text PRIMARY KEY,
      request_id text NOT NULL,
      cleanup_type text NOT NULL,
      created_at timestamptz NOT NULL,
      user_name text,
      message text,
      action_id text,
      run_before_kill jsonb,
      remove_from_load_balancer boolean)`);
    await q.query(`CREATE INDEX task_cleanup_by_request ON task_cleanup (request_id)`);
    // A kill that was decided: sent (and sent again) until the task has ended. sent_at null: not yet accepted.
    await q.query(`CREATE TABLE killed_task (
      task_id text PRIMARY KEY,
      request_id text NOT NULL,
      killed_at timestamptz NOT NULL,
      first_killed_at timestamptz NOT NULL,
      request_cleanup_type text,
      task_cleanup_type text,
      retries integer NOT NULL DEFAULT 0,
      grace_millis bigint,
      sent_at timestamptz)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(
      `DROP TABLE killed_task, task_cleanup, task_healthcheck, task_update, task_launch, task, pending_task, pending_request`,
    );
  }
}
