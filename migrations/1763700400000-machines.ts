import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Machines (slaves, grouped into racks), their past states, and how far the updates of each agent are applied. */
export class Machines1763700400000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const table of ['slave', 'rack']) {
      const ofSlavesOnly =
        table === 'slave'
          ? `host text NOT NULL, rack_id text NOT NULL, attributes jsonb NOT NULL, resources jsonb NOT NULL,
             agent_id text NOT NULL, incarnation text NOT NULL, seen_at timestamptz NOT NULL,`
          : '';
      await q.query(`CREATE TABLE ${table} (
        id text PRIMARY KEY,
        ${ofSlavesOnly}
        first_seen_at timestamptz NOT NULL,
        state text NOT NULL,
        state_at timestamptz NOT NULL,
        state_user text,
        state_message text)`);
    }
    await q.query(`CREATE TABLE machine_history (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      machine_kind text NOT NULL,
      machine_id text NOT NULL,
      state text NOT NULL,
      at timestamptz NOT NULL,
      user_name text,
      message text)`);
    await q.query(`CREATE INDEX machine_history_by_machine ON machine_history (machine_kind, machine_id, at DESC)`);
    // Stored in the transaction that applies the updates, so each is applied once.
    await q.query(`CREATE TABLE agent_cursor (
      agent_id text PRIMARY KEY,
      incarnation text NOT NULL,
      applied_update bigint NOT NULL)`);
    // Figures of the last comparison of our tasks with those of the machines.
    await q.query(`CREATE TABLE task_reconciliation (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      document jsonb NOT NULL)`);
    await q.query(`CREATE TABLE task_usage (
      task_id text NOT NULL,
      request_id text NOT NULL,
      sampled_at timestamptz NOT NULL,
      memory_total_bytes bigint NOT NULL,
      disk_total_bytes bigint NOT NULL,
      cpu_seconds double precision NOT NULL,
      cpus_nr_periods bigint NOT NULL,
      cpus_nr_throttled bigint NOT NULL,
      cpus_throttled_time_secs double precision NOT NULL,
      PRIMARY KEY (task_id, sampled_at))`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE task_usage, task_reconciliation, agent_cursor, machine_history, rack, slave`);
  }
}
