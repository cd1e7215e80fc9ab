import type { MigrationInterface, QueryRunner } from 'typeorm';

const viewOf = (zone: string, more: string): string => `CREATE OR REPLACE VIEW v_next_run AS
  SELECT p.request_id, p.deploy_id, p.pending_type, p.next_run_at,
    ${zone} AS time_zone,
    CASE WHEN ${zone} IN (SELECT name FROM pg_timezone_names) THEN p.next_run_at AT TIME ZONE ${zone} END AS local_time,
    r.document->>'schedule' AS schedule, r.document->>'quartzSchedule' AS quartz_schedule${more}
  FROM pending_task p JOIN request r ON r.id = p.request_id
  WHERE r.request_type = 'SCHEDULED' AND NOT p.delete_requested`;
const formerZone = `coalesce(r.document->>'scheduleTimeZone', 'UTC')`;
const comment = (text: string): string => `COMMENT ON VIEW v_next_run IS '${text}'`;

/** A request may have several schedules, and runs that wait for others or are for times of the past. */
export class NextRunsOfTimetables1766700000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // The zone is that of the first schedule, as everywhere else.
    const zone = `coalesce(r.document#>>'{schedules,0,scheduleTimeZone}', r.document->>'scheduleTimeZone', 'UTC')`;
    await q.query(
      viewOf(
        zone,
        `, r.document->'schedules' AS schedules,
    to_timestamp((p.document->>'scheduledAt')::bigint / 1000.0) AS scheduled_at, p.document ? 'buffered' AS buffered`,
      ),
    );
    await q.query(
      comment(
        'One row per run of a SCHEDULED request that waits: when it is due, in UTC and as the clocks of its zone show it, its planned time, and whether it waits for another run',
      ),
    );
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP VIEW v_next_run');
    await q.query(viewOf(formerZone, ''));
    await q.query(
      comment(
        'One row per planned run of a SCHEDULED request: when it is due, in UTC and as the clocks of its zone show it',
      ),
    );
  }
}
