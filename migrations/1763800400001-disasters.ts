import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Disasters: the figures they are seen in, those in force, and what is switched off because of them or by hand. */
export class Disasters1763800400001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE disaster_data_point (
      at timestamptz PRIMARY KEY,
      active_tasks integer NOT NULL,
      pending_tasks integer NOT NULL,
      late_tasks integer NOT NULL,
      avg_task_lag_millis bigint NOT NULL,
      lost_tasks integer NOT NULL,
      active_slaves integer NOT NULL,
      lost_slaves integer NOT NULL)`);
    await q.query(`CREATE TABLE active_disaster (type text PRIMARY KEY, since timestamptz NOT NULL)`);
    await q.query(`CREATE TABLE disabled_action (
      action text PRIMARY KEY,
      message text NOT NULL,
      user_name text,
      automatically_clearable boolean NOT NULL,
      expires_at timestamptz)`);
    // Whether the detection may switch actions off by itself.
    await q.query(`CREATE TABLE automated_actions (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      enabled boolean NOT NULL)`);
    await q.query(`INSERT INTO automated_actions (enabled) VALUES (true)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE automated_actions, disabled_action, active_disaster, disaster_data_point`);
  }
}
