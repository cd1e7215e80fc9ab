import type { Client } from 'pg';
import type { Instance } from '../../e2e/support/product.js';

/** Tables that only a leader adds to. */
const tables = ['task', 'task_update', 'pending_task', 'killed_task'];

/**
 * Lets the database itself write down who adds rows, and whose the lease is at that moment: the name of the connection
 * says which instance it was. What an instance adds while another one holds the lease is what must not be.
 */
export async function installAudit(client: Client): Promise<void> {
  await client.query(`CREATE TABLE bench_write (at timestamptz NOT NULL DEFAULT clock_timestamp(), name text, epoch bigint,
    leader text, table_name text)`);
  await client.query(`CREATE FUNCTION bench_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO bench_write (name, epoch, leader, table_name)
      SELECT current_setting('application_name'), e.epoch, l.address, TG_TABLE_NAME FROM leader_epoch e CROSS JOIN leader_lease l;
    RETURN NULL; END $$`);
  for (const table of tables) {
    await client.query(
      `CREATE TRIGGER bench_write AFTER INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION bench_write()`,
    );
  }
}

/** An addition while another instance held the lease. */
export interface LateWrite {
  at: Date;
  name: string;
  epoch: number;
  leader: string;
  table: string;
}

/** Writes of an instance, whose connections have this name. */
export async function writesOf(
  client: Client,
  instance: Instance,
  name: string,
): Promise<{ all: number; late: LateWrite[] }> {
  const { rows: writes } = await client.query<LateWrite>(
    'SELECT at, name, epoch, leader, table_name AS "table" FROM bench_write WHERE name = $1 ORDER BY at',
    [name],
  );
  return { all: writes.length, late: writes.filter(({ leader }) => new URL(leader).port !== String(instance.port)) };
}
