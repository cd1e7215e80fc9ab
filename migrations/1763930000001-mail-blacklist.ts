import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Addresses that no mail is sent to. */
export class MailBlacklist1763930000001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE mail_blacklist (address text PRIMARY KEY)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE mail_blacklist`);
  }
}
