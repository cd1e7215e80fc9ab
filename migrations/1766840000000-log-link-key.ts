import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The key of links to kept logs, so that every instance takes the links of the others. */
export class LogLinkKey1766840000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE log_link_key (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), key bytea NOT NULL)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE log_link_key`);
  }
}
