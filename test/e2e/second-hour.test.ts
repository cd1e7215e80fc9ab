import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase } from '../support/test-database.js';
import { demoOn, muster, shell } from './support/muster-command.js';
import { Installation } from './support/product.js';

/** Actions of people after the tour, by the command line, as one of several teams: every call needs a token. */
const installation = new Installation({
  database: createDatabase,
  settings: { auth: { enabled: true, adminGroups: ['ops'] } },
});
const folder = mkdtempSync(join(tmpdir(), 'mu-second-'));
const envs = {} as Record<'ann' | 'bob' | 'ops', Record<string, string>>;
let url: string;

beforeAll(async () => {
  const { api } = await installation.start();
  ({ url } = api);
  const server = { MUSTER_DATA_DIR: installation.dataDir, MUSTER_CONFIG: join(installation.dataDir, 'settings.json') };
  const made = await shell('muster token --bootstrap | tail -n 1', {
    env: { ...server, DATABASE_URL: installation.databaseUrl() },
  });
  const admin = made.out.trim();
  const tokenOf = async (id: string, groups: string[]): Promise<string> => {
    const answer = await fetch(`${url}/api/auth/token`, {
      method: 'POST',
      headers: { authorization: `Token ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ user: { id, groups } }),
    });
    return ((await answer.json()) as { token: string }).token;
  };
  for (const [id, groups] of [
    ['ann', ['web']],
    ['bob', ['db']],
  ] as const)
    envs[id] = { MUSTER_URL: url, MUSTER_TOKEN: await tokenOf(id, [...groups]) };
  envs.ops = { MUSTER_URL: url, MUSTER_TOKEN: admin };
}, 90_000);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await installation.dispose();
}, 90_000);

const ann = (...words: string[]) => muster(words, { env: envs.ann });
const bob = (...words: string[]) => muster(words, { env: envs.bob });
const small = { cpus: 0.1, memoryMb: 16 };
const job = (id: string, command: string, group = 'web'): string =>
  [
    JSON.stringify({ id, requestType: 'ON_DEMAND', group }),
    JSON.stringify({ deploy: { requestId: id, shell: true, command, resources: small } }),
  ].join('\n---\n');
const worker = (id: string, deploy: object): string =>
  [
    JSON.stringify({ id, requestType: 'WORKER', group: 'web' }),
    JSON.stringify({ deploy: { requestId: id, shell: true, resources: small, ...deploy } }),
  ].join('\n---\n');
const applied = (text: string, ...flags: string[]) =>
  muster(['apply', '-f', '-', ...flags], { env: envs.ann, stdin: text });

describe('a team', () => {
  test('applies what it has never had, sees what changes, and is kept from what is of others', async () => {
    const first = await applied(job('etl', 'true'), '--dry-run');
    expect(first, first.err).toMatchObject({ code: 0 });
    expect(first.out).toMatch(/^request etl: would be created\ndeploy etl [0-9a-f]{12}: would be deployed\n$/);
    expect((await ann('requests', '-q')).out).toBe('');
    const made = await applied(job('etl', 'true'), '--wait');
    expect(made, made.err).toMatchObject({ code: 0 });
    expect(made.out).toMatch(/^request etl: created\ndeploy etl [0-9a-f]{12}: deployed\n/);
    expect((await applied(job('etl', 'true'))).out).toMatch(
      /^request etl: unchanged\ndeploy etl [0-9a-f]{12}: unchanged\n$/,
    );
    const theirs = await muster(['apply', '-f', '-'], { env: envs.bob, stdin: job('etl', 'false', 'db') });
    expect(theirs).toMatchObject({ code: 5, out: '' });
  }, 60_000);

  test('leaves no request behind whose deploy is refused', async () => {
    const refused = await applied(worker('half', { command: 'sleep 1000', resources: { cpus: 1_000, memoryMb: 16 } }));
    expect(refused).toMatchObject({ code: 7, out: '' });
    expect(refused.err).toContain('deploy.resources.cpus');
    expect((await muster(['requests', 'half', '-q'], { env: envs.ops })).out).toBe('');
  }, 60_000);

  test('applies a folder, one that is refused beside the others, and is told how many of each', async () => {
    writeFileSync(join(folder, 'a.yaml'), job('one', 'true'));
    writeFileSync(join(folder, 'b.json'), JSON.stringify({ id: 'store', requestType: 'ON_DEMAND', group: 'db' }));
    writeFileSync(join(folder, 'c.yml'), job('two', 'true'));
    writeFileSync(join(folder, 'notes.txt'), 'no request');
    const all = await ann('apply', '-f', folder);
    expect(all.code).toBe(5);
    expect(all.err).toMatch(/^muster: 'ann' needs one of these groups for WRITE on request 'store'[^\n]*\n$/);
    expect(all.out).toMatch(
      /request one: created\n[^\n]*\nrequest two: created\n[^\n]*\n2 created, 2 deployed, 1 failed\n$/,
    );
    expect((await ann('apply', '-f', join(folder, 'a.yaml'), join(folder, 'c.yml'))).out).toMatch(/\n4 unchanged\n$/);
    const twice = await ann('apply', '-f', join(folder, 'a.yaml'), join(folder, 'a.yaml'));
    expect(twice).toMatchObject({ code: 2, out: '' });
    expect(twice.err).toContain("request 'one' again, after");
    // Removed one by one, past one that is not there; made again at once, under ids of deploys of their own.
    const removed = await ann('remove', 'one', 'nope', 'two', '--wait');
    expect(removed.code).toBe(5);
    expect(removed.out).toBe('one is being removed\ntwo is being removed\n');
    expect(removed.err).toMatch(/^muster: [^\n]*'nope'[^\n]*\n2 of 3 removed\n$/);
    const unknown = await muster(['remove', 'nope', 'neither'], { env: envs.ops });
    expect(unknown.code).toBe(4);
    expect(unknown.err).toMatch(/^muster: [^\n]*nope[^\n]*\nmuster: [^\n]*neither[^\n]*\n0 of 2 removed\n$/);
    const again = await ann('apply', '-f', join(folder, 'a.yaml'));
    expect(again.out).toMatch(/^request one: created\ndeploy one [0-9a-f]{12}\.2: deployed\n/);
    // Without waiting: apply does.
    await ann('remove', 'one');
    const third = await ann('apply', '-f', join(folder, 'a.yaml'));
    expect(third, third.err).toMatchObject({ code: 0 });
    expect(third.out).toMatch(/^request one: created\ndeploy one [0-9a-f]{12}\.3: deployed\n/);
  }, 90_000);

  test('is told of the run that it asked for, also where the run id was used before', async () => {
    await applied(job('exits', 'echo "got $1"; exit $1'), '--wait');
    const run = (...words: string[]) => ann('run', 'exits', '--run-id', 'today', ...words);
    expect(await run('0')).toEqual({ code: 0, out: 'got 0\n', err: '' });
    const used = await run('7');
    expect(used).toMatchObject({ code: 106, out: '' });
    expect(used.err).toMatch(
      /^muster: Request 'exits' has a run 'today' already: task exits-\S+ ended as TASK_FINISHED \(choose another --run-id, or wait for that run by --attach\)\n$/,
    );
    const attached = await run('7', '--attach');
    expect(attached).toMatchObject({ code: 0, out: 'got 0\n' });
    expect(attached.err).toContain('no other was started');
    expect(await run('7', '--attach', '--detach')).toMatchObject({ code: 0, out: 'today\n' });
    expect((await ann('run', 'exits', '--attach')).code).toBe(102);
    expect(await ann('run', 'exits', '--run-id', 'other', '--attach', '7')).toMatchObject({ code: 7, out: 'got 7\n' });
    expect((await bob('run', 'exits', '--run-id', 'today')).code).toBe(105);
    // By run: what each has printed, and which one it is that is shown where none is named.
    expect(await ann('logs', 'exits', '--run-id', 'today')).toEqual({ code: 0, out: 'got 0\n', err: '' });
    expect((await ann('logs', 'exits', '--run-id', 'other')).out).toBe('got 7\n');
    expect((await ann('logs', 'exits', '--run-id', 'none')).code).toBe(4);
    expect((await ann('logs', 'exits')).err).toContain('of run other');
  }, 90_000);
});

describe('what went wrong is said where one looks:', () => {
  test('a program that is not there', async () => {
    const ended = await applied(worker('typo', { command: 'no-such-program' }), '--wait');
    expect(ended.code).toBe(9);
    const shown = /stderr: [^\n]*no-such-program: [^\n]*not found\n *full log: muster logs (\S+) --stderr\n/.exec(
      ended.out,
    );
    expect(shown, ended.out).not.toBeNull();
    expect((await ann('logs', shown![1]!, '--stderr')).out).toContain('no-such-program');
    const explained = await ann('explain', 'typo');
    expect(explained.out).toMatch(
      /\ndeploy \w+ ended as FAILED: [^\n]*\n {2}stderr: [^\n]*not found\n {2}full log: muster logs \S+ --stderr\n$/,
    );
  }, 60_000);

  test('what fits on no machine is not waited for, and what has to wait says why', async () => {
    const great = await applied(
      worker('great', { command: 'sleep 1000', resources: { cpus: 40, memoryMb: 16 } }),
      '--wait',
    );
    expect(great.code).toBe(8);
    expect(great.out).toContain(
      'WAITS No slave of 1 can take it: 1 too small in cpus (the task asks for 40 cores; it has 8',
    );
    expect(great.err).toMatch(
      /^muster: great: \w+ needs a larger machine than there is; the deploy goes on\. No slave of 1/,
    );
    await ann('remove', 'great');
  }, 60_000);

  test('a health check without a port of the task, and resources that are left out', async () => {
    const check = { command: 'sleep 1000', healthcheck: { uri: '/health' } };
    const refused = await applied(worker('asked', check));
    expect(refused.err).toContain('deploy.resources.numPorts must be at least 1');
    const plain = await applied(worker('plain', { command: 'sleep 1000', resources: undefined }), '--dry-run');
    expect(plain.err).toBe('plain: deploy.resources is left out: 1 core, 64 MB by default\n');
  }, 60_000);

  test('an id of a deploy that was used', async () => {
    const named = (command: string) => worker('named', { id: 'v1', command });
    expect((await applied(named('sleep 1000'), '--wait')).code).toBe(0);
    const used = await applied(named('sleep 2000'));
    expect(used).toMatchObject({ code: 7, out: '' });
    expect(used.err).toContain("deploy.id 'v1' was used before by request 'named': choose another, or leave it out");
  }, 60_000);
});

test('the demo tells what it cannot deploy, and goes on', async () => {
  const { out } = await demoOn(url);
  const told = out.trimEnd().split('\n');
  expect(told).toHaveLength(8);
  for (const line of told.slice(1))
    expect(line).toMatch(/^ {2}\w+: cannot be deployed: The caller is not authenticated/);
});

test('the command line and the pages name no loop without an end', () => {
  for (const name of ['http-tour.md', 'first-job.md', 'plan.md', 'webhooks.md', 'events.md'])
    expect(readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8'), name).not.toMatch(
      /^[^\n]*\b(until|while) [^\n]*; do/m,
    );
});
