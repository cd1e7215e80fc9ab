import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Autoscaling: the number of instances of a request follows a metric. */
export class Autoscaling1766800000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // The newest decision about each request, with what the next one needs of those before: a new leader goes on from there.
    await q.query(`CREATE TABLE autoscale (
      request_id text PRIMARY KEY,
      at timestamptz NOT NULL,
      outcome text NOT NULL,
      instances integer NOT NULL CHECK (instances > 0),
      value double precision,
      needed integer,
      reason text,
      fewer_since timestamptz,
      fewer_needed integer,
      scaled_at timestamptz,
      scaled_from integer,
      scaled_to integer)`);
    // The leader reads those few of all requests, again and again.
    await q.query(`CREATE INDEX request_autoscaled ON request (id) WHERE document ? 'autoscale'`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP INDEX request_autoscaled`);
    await q.query(`DROP TABLE autoscale`);
  }
}
