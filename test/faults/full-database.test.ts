import { expect, onTestFinished, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/test-app.js';
import { waitFor } from '../support/wait-for.js';

async function call(app: TestApp<never>, method: string, path: string, body?: unknown) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(app.url + path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, never> };
}

/** From now on the database refuses every change of a record, as one without room does: what was there can be read. */
async function fill(app: TestApp<never>): Promise<() => Promise<void>> {
  const sql = app.database.pool;
  await sql.query(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`);
  const tables: { name: string }[] = await sql.query(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'leader_%'`,
  );
  const each = (change: (table: string) => string) => sql.query(tables.map(({ name }) => change(name)).join(';'));
  await each(
    (table) =>
      `CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION no_room()`,
  );
  return () => each((table) => `DROP TRIGGER no_room ON ${table}`);
}

test('a database without room: changes answer 503, reads go on, and readiness says so until there is room', async () => {
  const app = (await startTestApp({ settings: { checkSchedulerEverySeconds: 1 } })) as TestApp<never>;
  onTestFinished(app.close);
  await call(app, 'POST', '/api/requests', { id: 'before', requestType: 'ON_DEMAND' });
  const makeRoom = await fill(app);
  // Work for the scheduler, in past the triggers.
  await app.database.transaction(async (tx) => {
    await tx.query(`SET LOCAL session_replication_role = 'replica'`);
    await tx.query(`INSERT INTO pending_request (request_id, deploy_id, pending_type, created_at, document) VALUES
      ('before', 'd', 'IMMEDIATE', now(), '{"requestId":"before","deployId":"d","pendingType":"IMMEDIATE","timestamp":1}')`);
  });

  const refused = await call(app, 'POST', '/api/requests', { id: 'during', requestType: 'ON_DEMAND' });
  expect(refused).toMatchObject({ status: 503, body: { code: 'OUT_OF_RESOURCES', errors: [] } });
  expect((await call(app, 'GET', '/api/requests/request/before')).status).toBe(200);
  await waitFor('readiness to say so', async () => (await call(app, 'GET', '/readyz')).status === 503);
  const { body } = await call(app, 'GET', '/readyz');
  expect(body['failingPollers']).toContainEqual(
    expect.objectContaining({ name: 'scheduler', stopsService: true, lastError: expect.stringContaining('No space') }),
  );
  expect((await call(app, 'GET', '/healthz')).status).toBe(200);

  await makeRoom();
  await waitFor('it to be ready again', async () => (await call(app, 'GET', '/readyz')).status === 200);
  expect((await call(app, 'POST', '/api/requests', { id: 'after', requestType: 'ON_DEMAND' })).status).toBe(200);
});
