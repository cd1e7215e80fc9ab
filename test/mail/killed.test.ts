import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DatabasePool } from '../../src/platform/database/pool.js';
import { localhostCertificate } from '../support/auth/localhost-certificate.js';
import { freePort } from '../support/free-port.js';
import { startMailServer, type MailServer } from '../support/mail-server.js';
import { spawnOnBuild, type TestProcess } from '../support/spawn.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

const program = new URL('../support/programs/mailing-app.ts', import.meta.url);
const processes: TestProcess[] = [];
const servers: MailServer[] = [];
let database: { url: string; remove(): Promise<void> };
let pool: DatabasePool;
let folder: string;
let port: number;

beforeAll(async () => {
  database = await createDatabase();
  pool = await new DatabasePool({ url: database.url, use: 'api', poolSize: 1 }).open();
  folder = mkdtempSync(join(tmpdir(), 'muster-mail-'));
  writeFileSync(join(folder, 'ca.pem'), localhostCertificate.cert);
  port = await freePort();
}, 60_000);
afterAll(async () => {
  await Promise.all(processes.map((each) => each.kill()));
  await Promise.all(servers.map((each) => each.close()));
  await pool.close();
  await database.remove();
  rmSync(folder, { recursive: true, force: true });
});

const password = 'correct horse battery';
async function start(
  trusts: boolean,
  kind: object = { startTLS: true },
): Promise<{ url: string; process: TestProcess }> {
  const smtp = {
    host: 'localhost',
    port,
    ...kind,
    username: 'muster',
    password,
    from: 'muster@example.com',
    firstRetryMillis: 100,
    lastRetryMillis: 500,
  };
  const env = trusts ? { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') } : {};
  const process = await spawnOnBuild(program, [database.url, JSON.stringify(smtp)], env);
  processes.push(process);
  return { url: await process.line('listens ', 60_000), process };
}
async function serve(hangs: boolean, secure = false): Promise<MailServer> {
  const server = await startMailServer(
    {
      ...localhostCertificate,
      disabledCommands: [],
      secure,
      authOptional: false,
      onAuth: ({ username, password: given }, _session, done) =>
        given === password ? done(null, { user: username }) : done(new Error('no')),
    },
    port,
    { hangs },
  );
  servers.push(server);
  return server;
}
const waiting = () => pool.query('SELECT last_error FROM mail') as Promise<{ last_error: string | null }[]>;
async function post(url: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await waitFor('the call to be answered', async () => {
    const { status } = await fetch(`${url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return status === 200;
  });
}

test('a scheduler that is killed before the server has answered sends the mail again after its restart, under the same id', async () => {
  const first = await serve(true);
  const killed = await start(true);
  await post(killed.url, 'requests', { id: 'web', requestType: 'SERVICE', owners: ['owner@example.com'] });
  await post(killed.url, 'requests/request/web/pause', { message: 'once' });
  const sent = await first.until('the first attempt', ({ type }) => type === 'REQUEST_PAUSED');
  await killed.process.kill('SIGKILL');
  expect(await waiting()).toHaveLength(1);
  await first.close();

  const second = await serve(false);
  const next = await start(true);
  const again = await second.until('the mail', ({ type }) => type === 'REQUEST_PAUSED');
  expect(again.messageId).toBe(sent.messageId);
  expect([again.text, again.html, again.date]).toEqual([sent.text, sent.html, sent.date]);
  expect([again.isEncrypted, again.user]).toEqual([true, 'muster']);
  await waitFor('an empty outbox', async () => (await waiting()).length === 0);
  await next.process.kill('SIGTERM');
  const logs = [...killed.process.lines, ...next.process.lines].join('\n');
  expect(logs).not.toContain(password);
  await second.close();
}, 120_000);

test('ssl: a mail goes over a connection that is encrypted from its first byte, and to no other server', async () => {
  const secure = await serve(false, true);
  const app = await start(true, { ssl: true });
  await post(app.url, 'requests', { id: 'ssl', requestType: 'SERVICE', owners: ['owner@example.com'] });
  await post(app.url, 'requests/request/ssl/pause', {});
  const mail = await secure.until('the mail', ({ type }) => type === 'REQUEST_PAUSED');
  expect([mail.isEncrypted, mail.user]).toEqual([true, 'muster']);
  await waitFor('an empty outbox', async () => (await waiting()).length === 0);
  await secure.close();

  const plain = await serve(false);
  await post(app.url, 'requests/request/ssl/unpause', {});
  await waitFor('an attempt', async () => (await waiting()).some(({ last_error: error }) => error !== null));
  expect(plain.mails).toEqual([]);
  await app.process.kill('SIGTERM');
  await plain.close();
  await pool.query('DELETE FROM mail');
}, 120_000);

test('to a server without a certificate that is trusted nothing is said', async () => {
  const server = await serve(false);
  const app = await start(false);
  await post(app.url, 'requests/request/web/unpause', {});
  await waitFor('an attempt', async () =>
    (await waiting()).some(({ last_error: error }) => /self-signed/.test(error ?? '')),
  );
  expect(server.mails).toEqual([]);
  expect(app.process.lines.join('\n')).not.toContain(password);
}, 120_000);
