import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { onTestFinished, expect, test, vi } from 'vitest';
import { runCommand } from '../../cli/program.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { createDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { startAuthApp } from '../../../test/support/auth/auth-app.js';

async function bootstrap(
  databaseUrl: string,
  auth: object = { enabled: true },
): Promise<{ code: number; token: string }> {
  const lines: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  try {
    const config = join(path, 'settings.json');
    writeFileSync(config, JSON.stringify({ auth }));
    const environment = { DATABASE_URL: databaseUrl, MUSTER_DATA_DIR: path, MUSTER_CONFIG: config };
    const code = await runCommand(['token', '--bootstrap'], environment);
    return { code, token: lines.join('').trim().split('\n').at(-1)! };
  } finally {
    write.mockRestore();
  }
}

test('muster token --bootstrap makes an administrator, in the place of the one before, beside a running instance', async () => {
  const { url: databaseUrl, remove } = await createDatabase();
  const app = await startAuthApp({ auth: { enabled: true } }, { databaseUrl });
  onTestFinished(async () => {
    await app.close();
    await remove();
  });
  const first = await bootstrap(databaseUrl);
  expect(first.code).toBe(0);
  const made = await app.call('POST', '/api/auth/token', { token: first.token, body: { user: { id: 'bob' } } });
  expect(made).toMatchObject({ status: 200, body: { user: { id: 'bob' } } });
  const second = await bootstrap(databaseUrl);
  expect(second.token).not.toBe(first.token);
  expect(await app.call('GET', '/api/auth/user', { token: second.token })).toMatchObject({
    body: { user: { id: 'admin', scopes: ['SCHEDULER_ADMIN'] } },
  });
  await waitFor(
    'the first one to be forgotten',
    async () => (await app.call('GET', '/api/auth/user', { token: first.token })).status === 401,
    { timeoutMillis: 10_000 },
  );
  expect(await app.sql("SELECT 1 FROM auth_token WHERE user_name = 'admin'")).toHaveLength(1);
});

test('one that is made while authentication is off opens nothing once it is on', async () => {
  const { url: databaseUrl, remove } = await createDatabase();
  const made = await bootstrap(databaseUrl, { enabled: false });
  const app = await startAuthApp({ auth: { enabled: true } }, { databaseUrl });
  onTestFinished(async () => {
    await app.close();
    await remove();
  });
  expect(made.token).toMatch(/^muster_/);
  expect((await app.call('GET', '/api/auth/user', { token: made.token })).status).toBe(401);
});

test('a database that cannot be reached is said, with exit code 1', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const said = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  expect((await bootstrap(`postgres://muster:x@127.0.0.1:${port}/none`)).code).toBe(1);
  said.mockRestore();
});
