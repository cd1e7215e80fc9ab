import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/platform/database/connection.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { Installation } from './support/product.js';

test('a start says that Muster is ready when its machines are known, and not when it serves', async () => {
  const { url: databaseUrl, remove } = await createDatabase();
  const installation = new Installation({ databaseUrl });
  onTestFinished(async () => {
    await installation.dispose();
    await remove();
  });
  // This lease has nobody who renews it, so it is taken some seconds after it was seen, and no machine is known before.
  const client = await connect(databaseUrl, 'test', 10_000);
  await client.query(
    `UPDATE leader_lease SET holder = 'gone', epoch = 1, expires_at = clock_timestamp() + interval '1 hour'`,
  );
  await client.end();
  const instance = await installation.spawn(['start']);
  const says = async () =>
    instance.output.includes('Muster is ready') || (instance.exitCode !== undefined && 'it ended');
  expect(await waitFor('the line', says, { timeoutMillis: 60_000 }), instance.output).toBe(true);
  const { api } = instance;
  expect([(await fetch(`${api.url}/readyz`)).status, (await api.get<unknown[]>('slaves')).length]).toEqual([200, 1]);
}, 90_000);
