import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a caller did, and what was done to a request, are read without all other rows of the audit trail, the newest first. */
export class AuditReads1766450000001 implements MigrationInterface {
  transaction = false;
  async up(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX CONCURRENTLY IF EXISTS audit_by_caller');
    await q.query('CREATE INDEX CONCURRENTLY audit_by_caller ON audit (caller_id, at, id)');
    await q.query('DROP INDEX CONCURRENTLY IF EXISTS audit_by_request');
    await q.query('CREATE INDEX CONCURRENTLY audit_by_request ON audit (request_id, at, id)');
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP INDEX audit_by_caller');
    await q.query('DROP INDEX audit_by_request');
  }
}
