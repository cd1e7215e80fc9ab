import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What operators set for the placement of all requests, whichever instance leads. */
export class PlacementOverride1765270000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // slave_placement: the strategy in place of that of the requests; NULL: each has its own.
    await q.query(`CREATE TABLE placement_override (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      slave_placement text,
      ignores_rack_sensitivity boolean NOT NULL DEFAULT false)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE placement_override`);
  }
}
