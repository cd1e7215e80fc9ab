import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { runCommand } from '../../src/cli/program.js';
import { loadSettings } from '../../src/platform/settings/load-settings.js';
import { tempFolder } from '../support/temp-folder.js';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const manifest = JSON.parse(read('package.json')) as { version: string; license: string; engines: { node: string } };
const dockerfile = read('Dockerfile');
const instruction = (name: string): string =>
  new RegExp(`^${name} ((?:.*\\\\\\n)*.*)`, 'm').exec(dockerfile)?.[1]?.replaceAll('\\\n', ' ') ?? '';

test('--version says that of the package, which CHANGELOG.md tells of', async () => {
  const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  expect(await runCommand(['--version'], {})).toBe(0);
  expect(said.mock.calls).toEqual([[`${manifest.version}\n`]]);
  said.mockRestore();
  expect(read('CHANGELOG.md')).toMatch(new RegExp(`^## ${manifest.version.replaceAll('.', '\\.')}\\b`, 'm'));
  expect(manifest.license).toBe('Apache-2.0');
});

test('the image has a fixed Node that the package takes and that is maintained for long, and its user is not root', () => {
  // A tag may mean another image tomorrow.
  const major = Number(/^BASE=node:(\d+)-bookworm-slim@sha256:[0-9a-f]{64}$/.exec(instruction('ARG'))![1]);
  expect(dockerfile.match(/^FROM .*$/gm)).toEqual(['FROM ${BASE} AS build', 'FROM ${BASE}']);
  expect(major).toBeGreaterThanOrEqual(22);
  expect(major % 2).toBe(0);
  expect(instruction('USER')).toBe('node');
  // Why not, and what a root agent would do, stands above it.
  expect(dockerfile).toMatch(/^# .*root[^\n]*\nUSER node$/m);
  expect(dockerfile.indexOf('\nUSER ')).toBeGreaterThan(dockerfile.lastIndexOf('\nRUN '));
});

test.each([
  [200, 0],
  [503, 1],
])('its health check asks /readyz on the port of the settings: %s is exit code %s', async (status, code) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    response.writeHead(status).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const [file, ...args] = JSON.parse(/CMD (\[.*\])/.exec(instruction('HEALTHCHECK'))![1]!) as string[];
  const env = { ...process.env, MUSTER_PORT: String((server.address() as AddressInfo).port) };
  const ended = await promisify(execFile)(file === 'node' ? process.execPath : file!, args, { env }).then(
    () => 0,
    (cause: { code: number }) => cause.code,
  );
  expect([ended, asked]).toEqual([code, ['/readyz']]);
});

const unit = read('deploy/systemd/muster.service');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

test.runIf(hasSystemd)('systemd finds nothing wrong with the unit', () => {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const file = join(path, 'muster.service');
  // Node.js may be elsewhere on this machine.
  writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  expect([status, stdout, stderr]).toEqual([0, '', '']);
});

test('the unit starts what keeps its tasks, and ends no process but that one', () => {
  const environment = Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  expect(loadSettings({ environment })).toMatchObject({ dataDir: '/var/lib/muster', agent: { keepTasks: true } });
  expect(unit).toMatch(/^KillMode=process$/m);
});

test('the runbook has a chapter for each alert, and no other', () => {
  const { groups } = parse(read('examples/monitoring/alerts.yml')) as { groups: { rules: { alert: string }[] }[] };
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  const chapters = [...read('docs/runbook.md').matchAll(/^## (Muster\w+)$/gm)].map(([, name]) => name);
  expect(chapters).toEqual(alerts);
});
