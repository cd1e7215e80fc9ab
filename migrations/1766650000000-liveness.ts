import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Liveness: checks of tasks go on after they have become healthy. */
export class Liveness1766650000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // A live task that failed its last check. One that is well has no row, so what is well costs no writes; a new leader goes on
    // counting where the last one stopped.
    await q.query(`CREATE TABLE task_liveness (
      task_id text PRIMARY KEY,
      request_id text NOT NULL,
      failures integer NOT NULL CHECK (failures > 0),
      failing_since timestamptz NOT NULL,
      sick_since timestamptz,
      status_code integer,
      error_message text,
      waits_for text,
      waits_until timestamptz)`);
    await q.query(`CREATE INDEX task_liveness_by_request ON task_liveness (request_id)`);
    // Replacements of sick tasks of a request come in waves, each later after the one before: a row tells how many there were.
    await q.query(`CREATE TABLE replacement_wave (
      request_id text PRIMARY KEY,
      deploy_id text NOT NULL,
      count integer NOT NULL CHECK (count > 0),
      last_at timestamptz NOT NULL)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE replacement_wave, task_liveness`);
  }
}
