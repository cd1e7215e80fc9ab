import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The outbox of mails: a row is written in the transaction of what it tells of. */
export class Mail1765450000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // stage: NEW until it is decided whether it is sent as it is (MAIL) or is the one too many (NOTICE). audience: who is told,
    // as it was then. facts: what is told. unreached: addresses that have not got it; NULL: all. dead_at: it was given up.
    await q.query(`CREATE TABLE mail (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      mail_type text NOT NULL,
      request_id text,
      task_id text,
      user_name text,
      event_at timestamptz NOT NULL,
      queued_at timestamptz NOT NULL,
      audience jsonb NOT NULL,
      facts jsonb NOT NULL,
      stage text NOT NULL DEFAULT 'NEW' CHECK (stage IN ('NEW', 'MAIL', 'NOTICE')),
      attempts integer NOT NULL DEFAULT 0,
      next_attempt_at timestamptz NOT NULL,
      last_error text,
      unreached text[],
      dead_at timestamptz)`);
    // What is due, oldest first.
    await q.query(`CREATE INDEX mail_waiting ON mail (next_attempt_at, id) WHERE dead_at IS NULL`);
    // When the newest mails of a type and request were sent, and until when no further ones are.
    await q.query(`CREATE TABLE mail_rate (
      request_id text,
      mail_type text,
      sent_at timestamptz[] NOT NULL,
      limited_until timestamptz,
      changed_at timestamptz NOT NULL,
      PRIMARY KEY (request_id, mail_type))`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE mail_rate, mail`);
  }
}
