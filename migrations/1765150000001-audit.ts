import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who asked for what, from where, and whether they were allowed to: for SQL. */
export class Audit1765150000001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Written in batches after the answers, removed by age and number. caller_id is NULL where it is not known who called.
    await q.query(`CREATE TABLE audit (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at timestamptz NOT NULL,
      call_id text NOT NULL,
      caller_id text,
      caller_issuer text,
      proven_by text,
      address text NOT NULL,
      operation text NOT NULL,
      path text NOT NULL,
      request_id text,
      outcome text NOT NULL CHECK (outcome IN ('ALLOWED', 'REFUSED')),
      status integer,
      reason text)`);
    await q.query(`CREATE INDEX audit_by_time ON audit (at)`);
    await q.query(`CREATE VIEW v_audit AS
      SELECT at, caller_id AS caller, caller_issuer AS issuer, proven_by, address, operation, path, request_id, outcome, status,
        reason, call_id
      FROM audit`);
    await q.query(`COMMENT ON VIEW v_audit IS
      'One row per call that changes something, was refused, or read a file of a task: who, from where, what, with which outcome'`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP VIEW v_audit`);
    await q.query(`DROP TABLE audit`);
  }
}
