import type { Client } from 'pg';

/** Tables that only a leader adds to. */
const tables = ['task', 'task_update', 'pending_task', 'killed_task'];

/**
 * Lets the database itself write down who adds rows in which epoch: the port of the connection says which instance it
 * was. Rows written by an instance after the epoch in which it led are what must not be.
 */
export async function installAudit(client: Client): Promise<void> {
  await client.query(`CREATE TABLE bench_write (at timestamptz NOT NULL DEFAULT clock_timestamp(), port integer, epoch bigint,
    table_name text)`);
  await client.query(`CREATE FUNCTION bench_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO bench_write (port, epoch, table_name) SELECT inet_client_port(), epoch, TG_TABLE_NAME FROM leader_epoch;
    RETURN NULL; END $$`);
  for (const table of tables) {
    await client.query(
      `CREATE TRIGGER bench_write AFTER INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION bench_write()`,
    );
  }
}

/**
 * Writes of the connections with these ports: all, and those made in `epoch`, that of the successor. What an instance
 * writes when it leads again, in a later one, is its own.
 */
export async function writesOf(
  client: Client,
  ports: ReadonlySet<number>,
  epoch: number,
): Promise<{ all: number; since: number }> {
  const { rows } = await client.query<{ all: number; since: number }>(
    `SELECT count(*) AS "all", count(*) FILTER (WHERE epoch = $2) AS since FROM bench_write WHERE port = ANY ($1)`,
    [[...ports], epoch],
  );
  return rows[0]!;
}
