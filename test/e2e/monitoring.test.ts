import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startMailServer, type MailServer } from '../support/mail-server.js';
import { startReceiver, type HttpReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

const folder = fileURLToPath(new URL('../../examples/monitoring', import.meta.url));
const read = (name: string): string => readFileSync(`${folder}/${name}`, 'utf8');

let installation: Installation;
let url: string;
let receiver: HttpReceiver;
let mails: MailServer;
beforeAll(async () => {
  receiver = await startReceiver();
  mails = await startMailServer();
  const smtp = { host: '127.0.0.1', port: mails.port, from: 'muster@example.com' };
  installation = new Installation({ database: createDatabase, settings: { smtp, checkUsageEveryMillis: 1_000 } });
  const { api } = await installation.start();
  ({ url } = api);
  // Of states there are figures once there is something in one.
  await api.post('webhooks', { uri: receiver.url, type: 'REQUEST' });
  await api.saveRequest({ id: 'seen', requestType: 'WORKER' });
  await api.deploy({ id: 'd1', requestId: 'seen', command: 'sleep 1000', resources: { cpus: 0.1, memoryMb: 16 } });
  await api.running('seen', 1);
  await waitFor('a delivery', () => receiver.calls.length > 0);
}, 90_000);
afterAll(async () => {
  await installation.dispose();
  await receiver.close();
  await mails.close();
}, 90_000);

/** Names of metrics in a query, or in a file of queries. */
const namesIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/\b(?:muster|process)_[a-z_]+\b/g)].map(([name]) => name)),
];

const expressions = (): string => {
  const rules = [...read('alerts.yml').matchAll(/^ +expr: (.+)$/gm)].map(([, expr]) => expr);
  const { panels } = JSON.parse(read('dashboard.json')) as { panels: { targets?: { expr: string }[] }[] };
  const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect([rules.length, shown.length].every((count) => count > 12)).toBe(true);
  return [...rules, ...shown].join('\n');
};

test('every figure that the dashboard and the alerts ask for is served, in both forms', async () => {
  const names = namesIn(expressions());
  expect(names.length).toBeGreaterThan(20);
  const served = async (): Promise<Set<string>> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)] as unknown as [string, string, string][];
    return new Set(
      types.flatMap(([, name, type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
      ),
    );
  };
  const found = await served();
  expect(names.filter((name) => !found.has(name))).toEqual([]);
  // Figures of the whole service are read every few seconds.
  await waitFor('all of them as JSON', async () => {
    const { metrics } = (await (await fetch(`${url}/api/metrics`)).json()) as { metrics: Record<string, unknown> };
    const json = new Set(Object.keys(metrics).map((name) => name.replace(/\{.*$/, '')));
    const missing = names.map((name) => name.replace(/_(bucket|count|sum)$/, '')).filter((name) => !json.has(name));
    if (missing.length > 0) throw new Error(`Not there: ${missing.join(', ')}`);
    return true;
  });
});

const run = promisify(execFile);
const promtool = await run('promtool', ['--version']).then(
  () => true,
  () => false,
);
if (!promtool)
  console.log('The files of examples/monitoring are not checked: promtool is not installed (apt: prometheus)');

test.skipIf(!promtool)('promtool finds nothing wrong with the rules, the scrape and what is served', async () => {
  expect((await run('promtool', ['check', 'rules', `${folder}/alerts.yml`])).stdout).toContain('SUCCESS');
  expect((await run('promtool', ['test', 'rules', `${folder}/alerts.test.yml`])).stdout).toContain('SUCCESS');
  expect((await run('promtool', ['check', 'config', `${folder}/prometheus.yml`])).stdout).toContain('SUCCESS');
  const text = await (await fetch(`${url}/metrics`)).text();
  const checking = run('promtool', ['check', 'metrics']);
  checking.child.stdin!.end(text);
  const problems = await checking.then(
    ({ stdout, stderr }) => stdout + stderr,
    (cause: { stdout: string; stderr: string }) => cause.stdout + cause.stderr,
  );
  expect(problems.split('\n').filter((line) => /error|parsing/i.test(line))).toEqual([]);
});
