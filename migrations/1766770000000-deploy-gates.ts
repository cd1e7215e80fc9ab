import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Gates between the steps of a canary deploy. */
export class DeployGates1766770000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // One row per gate and step, from the moment at which it is the turn of the gate; kept as long as the deploy.
    await q.query(`CREATE TABLE deploy_gate (
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      step integer NOT NULL CHECK (step > 0),
      gate integer NOT NULL CHECK (gate > 0),
      type text NOT NULL,
      state text NOT NULL,
      since timestamptz NOT NULL,
      next_at timestamptz,
      ended_at timestamptz,
      passes integer NOT NULL,
      failures integer NOT NULL,
      inconclusive integer NOT NULL,
      user_name text,
      message text,
      PRIMARY KEY (request_id, deploy_id, step, gate))`);
    // The leader reads "due, oldest first"; only open gates with measurements have such a time.
    await q.query(`CREATE INDEX deploy_gate_due ON deploy_gate (next_at) WHERE next_at IS NOT NULL`);
    await q.query(`CREATE TABLE gate_measurement (
      request_id text NOT NULL,
      deploy_id text NOT NULL,
      step integer NOT NULL,
      gate integer NOT NULL,
      number integer NOT NULL CHECK (number > 0),
      at timestamptz NOT NULL,
      outcome text NOT NULL,
      value double precision,
      message text,
      PRIMARY KEY (request_id, deploy_id, step, gate, number))`);
    // Whoever deployed may not approve where a gate asks for another user. Absent: of a deploy from before.
    await q.query(`ALTER TABLE pending_deploy ADD COLUMN started_by text`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE pending_deploy DROP COLUMN started_by`);
    await q.query(`DROP TABLE gate_measurement, deploy_gate`);
  }
}
