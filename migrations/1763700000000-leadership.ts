import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who leads. Two tables of one row each, because the lease is renewed every second and the epoch must not move with it. */
export class Leadership1763700000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Every leader transaction locks this row in share mode first; only a takeover updates it, and so waits for them.
    await q.query(`CREATE TABLE leader_epoch (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      epoch bigint NOT NULL)`);
    await q.query(`CREATE TABLE leader_lease (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      holder text NOT NULL,
      address text NOT NULL,
      epoch bigint NOT NULL,
      expires_at timestamptz NOT NULL)`);
    await q.query(`INSERT INTO leader_epoch (epoch) VALUES (0)`);
    await q.query(`INSERT INTO leader_lease (holder, address, epoch, expires_at) VALUES ('', '', 0, '-infinity')`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE leader_lease, leader_epoch`);
  }
}
