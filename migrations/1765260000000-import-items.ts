import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What `muster import-from` took from another installation or could not take, so that it can be repeated and gone on with. */
export class ImportItems1765260000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // fingerprint: of what the original said. version: of the request's row as the import wrote it; a greater one was changed
    // here. held: paused only until it is handed over.
    await q.query(`CREATE TABLE import_item (
      kind text NOT NULL,
      key text NOT NULL,
      outcome text NOT NULL CHECK (outcome IN ('TAKEN', 'REFUSED')),
      fingerprint text NOT NULL,
      reason text,
      version bigint,
      held boolean NOT NULL DEFAULT false,
      handed_over_at timestamptz,
      noted_at timestamptz NOT NULL,
      PRIMARY KEY (kind, key))`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE import_item`);
  }
}
