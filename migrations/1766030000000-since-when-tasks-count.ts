import type { MigrationInterface, QueryRunner } from 'typeorm';

/** After the clock of the database was set back, limits of tasks that were started by the clock that was ahead run from then on. */
export class SinceWhenTasksCount1766030000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // started_at is part of the task's id and stays; NULL: since started_at.
    await q.query('ALTER TABLE task ADD COLUMN counts_since timestamptz');
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE task DROP COLUMN counts_since');
  }
}
