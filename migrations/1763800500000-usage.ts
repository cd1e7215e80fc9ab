import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What machines and requests use, as of the newest round of sampling, and who is not to be moved because of it. */
export class Usage1763800500000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // One row per slave, replaced with every sample: in place, and its page has room for the next version.
    await q.query(`CREATE TABLE slave_usage (
      slave_id text PRIMARY KEY,
      document jsonb NOT NULL) WITH (fillfactor = 50)`);
    // The deploy whose tasks were measured: figures of a former one count no more.
    await q.query(`CREATE TABLE request_utilization (
      request_id text PRIMARY KEY,
      deploy_id text NOT NULL,
      document jsonb NOT NULL) WITH (fillfactor = 50)`);
    await q.query(`CREATE TABLE cluster_utilization (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      document jsonb NOT NULL)`);
    // Requests, known or not, whose tasks stay where they are however full a machine gets.
    await q.query(`CREATE TABLE shuffle_blacklist (request_id text PRIMARY KEY)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE shuffle_blacklist, cluster_utilization, request_utilization, slave_usage`);
  }
}
