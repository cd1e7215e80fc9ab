import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the application of status updates cannot finish at once. */
export class StatusUpdates1763800300000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Almost always empty. json and not jsonb: whatever an agent said can be kept, a NUL in a text too.
    await q.query(`CREATE TABLE held_status_update (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      task_id text NOT NULL,
      held_at timestamptz NOT NULL,
      attempts integer NOT NULL,
      next_attempt_at timestamptz NOT NULL,
      last_error text NOT NULL,
      document json NOT NULL)`);
    // A wish that one task be compared with what its machine says; any instance writes it, the leader takes it.
    await q.query(`CREATE TABLE reconciliation_wish (
      task_id text PRIMARY KEY,
      asked_at timestamptz NOT NULL)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE reconciliation_wish, held_status_update`);
  }
}
