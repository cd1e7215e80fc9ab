import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Programs around the main one of a task: init steps, sidecars and post steps. */
export class TaskPrograms1766810000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // The newest state of each program of a live task; with its end they go into its history.
    await q.query(`CREATE TABLE task_program (
      task_id text NOT NULL,
      name text NOT NULL,
      role text NOT NULL,
      state text NOT NULL,
      starts integer NOT NULL,
      begun_at timestamptz NOT NULL,
      at timestamptz NOT NULL,
      exit_code integer,
      message text,
      PRIMARY KEY (task_id, name))`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE task_program`);
  }
}
