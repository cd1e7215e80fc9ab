import type { Client } from 'pg';
import type { Instance } from '../../e2e/support/product.js';
import type { Connection } from './stage.js';

/** Tables that only a leader adds to. */
const tables = ['task', 'task_update', 'pending_task', 'killed_task'];

/**
 * Lets the database itself write down who adds rows, and whose the lease is at that moment: the port of the connection says
 * which instance it was. What an instance adds while another one holds the lease is what must not be.
 */
export async function installAudit(client: Client): Promise<void> {
  await client.query(`CREATE TABLE bench_write (at timestamptz NOT NULL DEFAULT clock_timestamp(), port integer, epoch bigint,
    leader text, table_name text)`);
  await client.query(`CREATE FUNCTION bench_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO bench_write (port, epoch, leader, table_name)
      SELECT inet_client_port(), e.epoch, l.address, TG_TABLE_NAME FROM leader_epoch e CROSS JOIN leader_lease l;
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
  port: number;
  epoch: number;
  leader: string;
  table: string;
}

/** Of an instance. Ports come again: a write is of the newest connection by its port that is not younger than it. */
export async function writesOf(
  client: Client,
  instance: Instance,
  connections: readonly Connection[],
): Promise<{ all: number; late: LateWrite[] }> {
  const { rows } = await client.query<LateWrite>(
    'SELECT at, port, epoch, leader, table_name AS "table" FROM bench_write ORDER BY at',
  );
  const inOrder = connections.toSorted((a, b) => a.since - b.since);
  const writes = rows.filter(
    ({ port, at }) =>
      inOrder.findLast((each) => each.port === port && each.since <= at.getTime())?.instance === instance,
  );
  return { all: writes.length, late: writes.filter(({ leader }) => new URL(leader).port !== String(instance.port)) };
}
