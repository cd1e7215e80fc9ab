import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What became of the last delivery of each webhook, for those who look after it. */
export class WebhookResults1765520000001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // last_error: NULL when the last one was taken, or there was none.
    await q.query(`ALTER TABLE webhook ADD COLUMN last_attempt_at timestamptz, ADD COLUMN last_error text`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE webhook DROP COLUMN last_attempt_at, DROP COLUMN last_error`);
  }
}
