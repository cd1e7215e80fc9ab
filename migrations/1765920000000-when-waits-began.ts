import type { MigrationInterface, QueryRunner } from 'typeorm';

/** After the clock of the database was set back, what waits since a time that is still to come is due at once. */
export class WhenWaitsBegan1765920000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // When next_attempt_at was decided; NULL: since it was queued.
    await q.query('ALTER TABLE mail ADD COLUMN waits_since timestamptz');
    await q.query('ALTER TABLE held_status_update ADD COLUMN waits_since timestamptz');
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE held_status_update DROP COLUMN waits_since');
    await q.query('ALTER TABLE mail DROP COLUMN waits_since');
  }
}
