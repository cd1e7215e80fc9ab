import type { Client } from 'pg';
import { StartError } from '../errors.js';

/** The database is not in a state for it. */
export class StateInTheWay extends StartError {}

/** Something in a schema that is dropped and moved by itself, and takes along what belongs to it. */
export interface SchemaObject {
  kind: string;
  /** With its schema, unless that is searched. */
  name: string;
}

/** All of a schema but what extensions brought. */
export async function objectsIn(client: Client, schema: string): Promise<SchemaObject[]> {
  const { rows } = await client.query<SchemaObject>(
    `WITH belongs AS (SELECT classid, objid FROM pg_depend WHERE deptype IN ('e', 'a', 'i'))
     SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
       WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind, oid::regclass::text AS name
     FROM pg_class WHERE relnamespace = quote_ident($1)::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
       AND ('pg_class'::regclass, oid) NOT IN (SELECT classid, objid FROM belongs)
     UNION ALL
     SELECT 'ROUTINE', oid::regprocedure::text FROM pg_proc
     WHERE pronamespace = quote_ident($1)::regnamespace AND ('pg_proc'::regclass, oid) NOT IN (SELECT classid, objid FROM belongs)
     UNION ALL
     SELECT 'TYPE', oid::regtype::text FROM pg_type
     WHERE typnamespace = quote_ident($1)::regnamespace AND typtype IN ('e', 'd')
       AND ('pg_type'::regclass, oid) NOT IN (SELECT classid, objid FROM belongs)`,
    [schema],
  );
  return rows;
}

/** The schema that unqualified names are in, and what is in it. */
export async function presentSchema(client: Client): Promise<{ schema: string; objects: SchemaObject[] }> {
  const { rows } = await client.query<{ schema: string | null }>('SELECT current_schema() AS schema');
  const { schema } = rows[0]!;
  if (schema === null) throw new StateInTheWay('The database has no schema to make tables in: search_path names none');
  return { schema, objects: await objectsIn(client, schema) };
}

/** Instances of Muster on this database, wherever they run: each listens for signals all the time. */
export async function instancesConnected(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*) AS count FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'muster listen'`,
  );
  return rows[0]!.count;
}
