import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Somebody is told once that a run of a cron job takes unusually long. The mark goes with the task. */
export class OverdueAlerts1763800100000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE task ADD COLUMN overdue_alert_at timestamptz');
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE task DROP COLUMN overdue_alert_at');
  }
}
