import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What has ended, for reading and for reports. Insert-only: in which table a row stands is its tier. */
export class History1763700500000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE task_history (
      task_id text PRIMARY KEY,
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      run_id text,
      slave_id text,
      host text NOT NULL,
      rack_id text,
      instance_no integer NOT NULL,
      started_at timestamptz NOT NULL,
      running_at timestamptz,
      updated_at timestamptz NOT NULL,
      last_task_status text,
      purged boolean NOT NULL DEFAULT false,
      data jsonb,
      bytes bytea)`);
    // The lists of a request's tasks, newest first, plain and by each filter that clients use.
    await q.query(`CREATE INDEX task_history_by_request ON task_history (request_id, updated_at, task_id)`);
    await q.query(`CREATE INDEX task_history_by_deploy ON task_history (request_id, deploy_id, updated_at)`);
    await q.query(`CREATE INDEX task_history_by_status ON task_history (request_id, last_task_status, updated_at)`);
    await q.query(`CREATE INDEX task_history_by_host ON task_history (host, updated_at)`);
    await q.query(`CREATE INDEX task_history_by_time ON task_history (updated_at, request_id)`);
    await q.query(`CREATE INDEX task_history_by_run ON task_history (run_id)`);

    // A task that never reported to run has no run time: the time it took to launch is not one.
    await q.query(`CREATE VIEW v_task_outcome AS
      SELECT task_id, request_id, deploy_id, run_id, last_task_status AS status, started_at, running_at,
        updated_at AS ended_at, extract(epoch FROM updated_at - running_at) AS run_seconds,
        instance_no, host, rack_id
      FROM task_history`);
    await q.query(`CREATE VIEW v_deploy_outcome AS
      SELECT request_id, deploy_id, user_name, message, deploy_state AS state, created_at AS started_at,
        deploy_state_at AS ended_at, extract(epoch FROM deploy_state_at - created_at) AS duration_seconds
      FROM deploy_history`);
    await q.query(`CREATE VIEW v_request_change AS
      SELECT request_id, created_at AS at, event_type, user_name, message, request->>'requestType' AS request_type,
        (request->>'instances')::integer AS instances, request->>'group' AS request_group, request->'owners' AS owners
      FROM request_history`);
    await q.query(`CREATE VIEW v_runs_per_request_and_day AS
      SELECT request_id, (started_at AT TIME ZONE 'UTC')::date AS day, count(*) AS runs,
        count(*) FILTER (WHERE last_task_status = 'TASK_FINISHED') AS finished,
        count(*) FILTER (WHERE last_task_status = 'TASK_KILLED') AS killed,
        count(*) FILTER (WHERE last_task_status NOT IN ('TASK_FINISHED', 'TASK_KILLED')) AS failed
      FROM task_history GROUP BY 1, 2`);
    // Killed tasks were ended on purpose: they count neither as success nor as failure.
    await q.query(`CREATE VIEW v_failure_rate AS
      SELECT request_id, deploy_id, count(*) AS ended,
        count(*) FILTER (WHERE last_task_status NOT IN ('TASK_FINISHED', 'TASK_KILLED')) AS failed,
        round(count(*) FILTER (WHERE last_task_status NOT IN ('TASK_FINISHED', 'TASK_KILLED'))::numeric
          / nullif(count(*) FILTER (WHERE last_task_status <> 'TASK_KILLED'), 0), 4) AS failure_rate
      FROM task_history GROUP BY 1, 2`);
    await q.query(`CREATE VIEW v_run_time_percentiles AS
      SELECT request_id, count(*) AS runs,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY run_seconds) AS p50_seconds,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY run_seconds) AS p90_seconds,
        percentile_cont(0.99) WITHIN GROUP (ORDER BY run_seconds) AS p99_seconds
      FROM v_task_outcome WHERE status = 'TASK_FINISHED' GROUP BY 1`);

    const meaning: Record<string, string> = {
      v_task_outcome: 'One row per ended task: how it ended, where and how long it ran (from TASK_RUNNING on)',
      v_deploy_outcome:
        'One row per deploy: who started it, how it ended and how long it took; state is null in progress',
      v_request_change:
        'One row per change of a request: who did what when, with the main fields as they were after it',
      v_runs_per_request_and_day: 'Ended tasks per request and day of their start (UTC), by how they ended',
      v_failure_rate: 'Per request and deploy the share of ended tasks that failed; killed tasks do not count',
      v_run_time_percentiles: 'Run times per request over its tasks that finished, in seconds',
    };
    for (const [view, text] of Object.entries(meaning)) await q.query(`COMMENT ON VIEW ${view} IS '${text}'`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP VIEW v_run_time_percentiles, v_failure_rate, v_runs_per_request_and_day, v_request_change,
      v_deploy_outcome, v_task_outcome`);
    await q.query(`DROP TABLE task_history`);
  }
}
