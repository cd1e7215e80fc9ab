import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Calls that carry an Idempotency-Key, so that one that is repeated is not done twice. */
export class IdempotentCalls1765150000002 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // scope: a digest of caller, method, path and key. claim: who of several that came at once does it; a transaction of the
    // call ends by setting acted_at where its claim still stands, so that a change and this row are committed together.
    await q.query(`CREATE TABLE idempotent_call (
      scope text PRIMARY KEY,
      fingerprint text NOT NULL,
      claim text NOT NULL,
      instance_id text NOT NULL,
      begun_at timestamptz NOT NULL,
      acted_at timestamptz,
      status integer,
      content_type text,
      body text)`);
    await q.query(`CREATE INDEX idempotent_call_by_time ON idempotent_call (begun_at)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE idempotent_call`);
  }
}
