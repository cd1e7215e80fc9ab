import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Webhooks and their outbox: an update is queued in the transaction that makes the change it tells of. */
export class Webhooks1763700600000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE webhook (
      id text PRIMARY KEY,
      uri text NOT NULL,
      webhook_type text NOT NULL,
      created_at timestamptz NOT NULL,
      user_name text,
      secret text,
      failures_in_row integer NOT NULL DEFAULT 0,
      next_probe_at timestamptz)`);
    // subject_id is the request id: updates of one request are delivered in the order of id, one in flight.
    await q.query(`CREATE TABLE webhook_update (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      webhook_id text NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
      update_key text NOT NULL,
      subject_id text NOT NULL,
      event_at timestamptz NOT NULL,
      queued_at timestamptz NOT NULL,
      attempts integer NOT NULL DEFAULT 0,
      next_attempt_at timestamptz NOT NULL,
      last_error text,
      placeholders jsonb NOT NULL,
      listed jsonb NOT NULL,
      body jsonb NOT NULL,
      UNIQUE (webhook_id, update_key))`);
    // A lane is what one webhook hears of one request; its oldest update goes first, and this index finds it.
    await q.query(`CREATE INDEX webhook_update_by_lane ON webhook_update (webhook_id, subject_id, id)`);
    // Keeps all that is needed to queue the update again by hand.
    await q.query(`CREATE TABLE webhook_dead_letter (
      id bigint PRIMARY KEY,
      webhook_id text NOT NULL,
      update_key text NOT NULL,
      subject_id text NOT NULL,
      event_at timestamptz NOT NULL,
      dead_at timestamptz NOT NULL,
      attempts integer NOT NULL,
      last_error text,
      placeholders jsonb NOT NULL,
      listed jsonb NOT NULL,
      body jsonb NOT NULL)`);
    await q.query(`CREATE INDEX webhook_dead_letter_by_webhook ON webhook_dead_letter (webhook_id, id)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE webhook_dead_letter, webhook_update, webhook`);
  }
}
