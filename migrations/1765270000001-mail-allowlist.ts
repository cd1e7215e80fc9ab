import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Addresses whose owners subscribed. One that is here is not in mail_blacklist. */
export class MailAllowlist1765270000001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE mail_allowlist (address text PRIMARY KEY)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE mail_allowlist`);
  }
}
