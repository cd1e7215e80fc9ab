import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What programs keep for a user, such as the views that somebody has saved on the dashboard: a JSON object, which the service does not read. */
export class UserPreferences1766448000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE user_settings ADD COLUMN preferences jsonb`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE user_settings DROP COLUMN preferences`);
  }
}
