import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How far the times of a request are planned, when the scheduler looks at them again, and how many runs its schedule has begun. Only of
 * SCHEDULED requests whose next time is planned while a run goes on, or whose number of runs is bounded.
 */
export class RequestPlanning1766540000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE request ADD COLUMN planned_until timestamptz, ADD COLUMN plan_at timestamptz,
      ADD COLUMN started_runs integer`);
    await q.query(`CREATE INDEX request_to_plan ON request (plan_at) WHERE plan_at IS NOT NULL`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP INDEX request_to_plan`);
    await q.query(`ALTER TABLE request DROP COLUMN planned_until, DROP COLUMN plan_at, DROP COLUMN started_runs`);
  }
}
