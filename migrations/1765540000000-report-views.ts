import type { MigrationInterface, QueryRunner } from 'typeorm';

const outcome = `SELECT task_id, request_id, deploy_id, run_id, last_task_status AS status, started_at, running_at,
  updated_at AS ended_at, extract(epoch FROM updated_at - running_at) AS run_seconds, instance_no, host, rack_id`;
const percentiles = `SELECT request_id, count(*) AS runs,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY run_seconds) AS p50_seconds,
  percentile_cont(0.9) WITHIN GROUP (ORDER BY run_seconds) AS p90_seconds,
  percentile_cont(0.99) WITHIN GROUP (ORDER BY run_seconds) AS p99_seconds`;

/** Reports say why tasks ended, how long runs take on average, and when requests run next. */
export class ReportViews1765540000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Of a row that an older installation left as bytes alone nothing is known until it is converted.
    await q.query(`CREATE OR REPLACE VIEW v_task_outcome AS ${outcome},
      substring(data #>> '{taskUpdates,-1,statusMessage}' FROM '[Ee]xit code (\\d{1,9})')::integer AS exit_code,
      data #>> '{taskUpdates,-1,statusReason}' AS reason, data #>> '{taskUpdates,-1,statusMessage}' AS message
      FROM task_history`);
    await q.query(`CREATE OR REPLACE VIEW v_run_time_percentiles AS ${percentiles}, avg(run_seconds) AS mean_seconds
      FROM v_task_outcome WHERE status = 'TASK_FINISHED' GROUP BY 1`);
    // A zone that only the scheduler knows by this name has no local time here.
    await q.query(`CREATE VIEW v_next_run AS
      SELECT p.request_id, p.deploy_id, p.pending_type, p.next_run_at,
        coalesce(r.document->>'scheduleTimeZone', 'UTC') AS time_zone,
        CASE WHEN coalesce(r.document->>'scheduleTimeZone', 'UTC') IN (SELECT name FROM pg_timezone_names)
          THEN p.next_run_at AT TIME ZONE coalesce(r.document->>'scheduleTimeZone', 'UTC') END AS local_time,
        r.document->>'schedule' AS schedule, r.document->>'quartzSchedule' AS quartz_schedule
      FROM pending_task p JOIN request r ON r.id = p.request_id
      WHERE r.request_type = 'SCHEDULED' AND NOT p.delete_requested`);
    await q.query(`COMMENT ON VIEW v_next_run IS
      'One row per planned run of a SCHEDULED request: when it is due, in UTC and as the clocks of its zone show it'`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP VIEW v_next_run, v_run_time_percentiles, v_task_outcome`);
    await q.query(`CREATE VIEW v_task_outcome AS ${outcome} FROM task_history`);
    await q.query(`CREATE VIEW v_run_time_percentiles AS ${percentiles}
      FROM v_task_outcome WHERE status = 'TASK_FINISHED' GROUP BY 1`);
    await q.query(`COMMENT ON VIEW v_task_outcome IS
      'One row per ended task: how it ended, where and how long it ran (from TASK_RUNNING on)'`);
    await q.query(`COMMENT ON VIEW v_run_time_percentiles IS
      'Run times per request over its tasks that finished, in seconds'`);
  }
}
