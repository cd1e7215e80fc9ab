import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An instance that reaches no agent leaves the leadership to one that does, so each says whether it does. */
export class AgentReach1765840000001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // NULL: it reaches none, or does not compete for the leadership.
    await q.query(`ALTER TABLE instance ADD COLUMN reaches_agents_at timestamptz`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE instance DROP COLUMN reaches_agents_at`);
  }
}
