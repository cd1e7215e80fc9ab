import { type Client, escapeIdentifier, escapeLiteral } from 'pg';

/** Role whose members can read the views for reports, and nothing else of Muster. */
export const reportRole = 'muster_reports';

/**
 * Makes the role, or gives it its password again, and lets it read the views that there are now. Reports are read from
 * snapshots, so it changes nothing even where the database lets everybody do so, and none takes longer than ten minutes.
 * Answers false when the user of this connection may not make roles.
 */
export async function openReportRole(client: Client, password: string): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    'SELECT rolsuper OR rolcreaterole AS may FROM pg_roles WHERE rolname = current_user',
  );
  if (!rows[0]?.may) return false;
  const role = escapeIdentifier(reportRole);
  await client.query(
    `DO $$ BEGIN CREATE ROLE ${role}; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
  );
  await client.query(
    `ALTER ROLE ${role} WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS NOINHERIT
     CONNECTION LIMIT 10 PASSWORD ${escapeLiteral(password)}`,
  );
  await client.query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
  await client.query(`ALTER ROLE ${role} SET statement_timeout = '10min'`);
  const views = await client.query<{ name: string }>(
    `SELECT quote_ident(schemaname) || '.' || quote_ident(viewname) AS name FROM pg_views
     WHERE schemaname = current_schema() AND starts_with(viewname, 'v_')`,
  );
  const { rows: places } = await client.query<{ schema: string }>('SELECT quote_ident(current_schema()) AS schema');
  await client.query(`GRANT USAGE ON SCHEMA ${places[0]!.schema} TO ${role}`);
  if (views.rows.length > 0)
    await client.query(`GRANT SELECT ON ${views.rows.map(({ name }) => name).join(', ')} TO ${role}`);
  return true;
}
