import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.js';
import { freePort } from '../support/free-port.js';
import { waitFor } from '../support/wait-for.js';
import { muster, shell } from './support/muster-command.js';
import { Installation, type Instance } from './support/product.js';

/** The commands of the built product against the built product: what they end with. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const installation = new Installation();
const secured = new Installation({ settings: { auth: { enabled: true } } });
const folder = mkdtempSync(join(tmpdir(), 'mu-cli-'));
let instance: Instance;
let guarded: Instance;
let env: Record<string, string>;

beforeAll(async () => {
  [instance, guarded] = await Promise.all([installation.start(), secured.start(['scheduler'])]);
  env = {
    MUSTER_DATA_DIR: installation.dataDir,
    XDG_CONFIG_HOME: join(folder, 'config'),
    DATABASE_URL: '',
  };
}, 120_000);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await Promise.all([installation.dispose(), secured.dispose()]);
}, 120_000);

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
/** One line that begins with the name of the program. */
const oneLine = /^muster: [^\n]+\n$/;

describe('each outcome has its own exit code, and one line on stderr:', () => {
  test('the table of docs/cli.md names every code', () => {
    const page = readFileSync(join(root, 'docs', 'cli.md'), 'utf8')
      .split('\n## Exit codes\n')[1]!
      .split('\n## ')[0]!;
    const named = [...page.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code));
    expect(named).toEqual(Object.values(exitCodes));
  });

  test.each([
    [
      'an unknown command',
      ['reqests'],
      2,
      "unknown command 'reqests'; did you mean 'requests'? (muster --help lists all)",
    ],
    ['a command that none is like', ['bogus'], 2, "unknown command 'bogus' (muster --help lists all)"],
    [
      'a server before a command with sub-commands',
      ['--url', 'http://127.0.0.1:1', 'token', 'list'],
      3,
      'Muster does not answer at http://127.0.0.1:1',
    ],
    [
      'a server between the two',
      ['webhooks', '--url=http://127.0.0.1:1', 'dead'],
      3,
      'Muster does not answer at http://127.0.0.1:1',
    ],
    [
      'a server for a command of this machine',
      ['--url', 'http://127.0.0.1:1', 'stop'],
      2,
      "unknown option '--url'; muster stop works on a data directory of this machine: --data-dir",
    ],
    [
      'a server before the command',
      ['--url', 'http://127.0.0.1:1', 'ps'],
      3,
      'Muster does not answer at http://127.0.0.1:1',
    ],
    ['a server alone', ['--url=http://127.0.0.1:1'], 2, "unknown option '--url=http://127.0.0.1:1'"],
    ['an unknown state', ['history', '--state', 'ended'], 2, '--state must be one of launched, staging,'],
    ['an unknown flag', ['ps', '--jsno'], 2, "unknown option '--jsno' (Did you mean --json?)"],
    [
      'an id that looks like a flag',
      ['pause', '-nightly'],
      2,
      "unknown option '-nightly'; write -- before an id that begins with -",
    ],
    ['an id that looks like one, behind --', ['explain', '--', '--nightly'], 4, "No request with id '--nightly'"],
    ['a missing word', ['scale', 'web'], 2, "missing required argument 'instances'"],
    [
      'a number that is none',
      ['scale', 'web', 'four'],
      2,
      "<instances> must be a whole number of at least 1, not 'four'",
    ],
    ['no instances', ['scale', 'web', '0'], 2, '<instances> must be at least 1; muster pause web ends all tasks'],
    ['an address that is none', ['ps', '--url', 'muster.example.com'], 2, '--url must be an address such as'],
    ['an unknown context', ['ps', '--context', 'moon'], 2, "There is no context 'moon'"],
    ['a file that is not there', ['deploy', '-f', 'none.yaml'], 2, 'Cannot read none.yaml: there is no such file'],
    ['a server that is away', ['ps', '--url', 'http://127.0.0.1:1'], 3, 'Muster does not answer at http://127.0.0.1:1'],
    ['a host that is not there', ['ps', '--url', 'http://no-such-host.invalid'], 3, 'Muster does not answer at'],
    ['an unknown request', ['scale', 'nope', '3'], 4, "No request with id 'nope'"],
    ['an unknown request, asked for its tasks', ['ps', 'nope'], 4, "No request with id 'nope'"],
    ['an unknown request, asked for its logs', ['logs', 'nope'], 4, "No request with id 'nope'"],
    ['an unknown request, asked for its history', ['history', 'nope'], 4, "No request with id 'nope'"],
    ['an unknown request, asked for its deploys', ['history', 'nope', '--deploys'], 4, "No request with id 'nope'"],
    ['a state that is none', ['requests', '--state', 'nope'], 2, '--state must be one of active, deleting, '],
    ['a type that is none', ['requests', '--type', 'nope'], 2, '--type must be one of service, worker, '],
    ['help for an unknown command', ['help', 'nope'], 2, "unknown command 'nope'"],
    ['an unknown machine', ['machines', 'nope'], 4, "'nope'"],
    ['one by the earlier name of the command', ['slaves', 'nope'], 4, "'nope'"],
    ['an unknown request to run', ['run', 'nope'], 104, "No request with id 'nope'"],
    ['a server that is away, to run', ['run', 'nope', '--url', 'http://127.0.0.1:1'], 103, 'does not answer'],
    ['a wrong flag of run', ['run', 'nope', '--jsno'], 102, "unknown option '--jsno'"],
    ['an id that is refused', ['apply', '-f', 'bad-id.yaml'], 7, 'id'],
  ])('%s', async (_name, args, code, message) => {
    file('bad-id.yaml', 'id: ids\nrequestType: ON_DEMAND\n');
    const words = args.map((word) => (word === 'bad-id.yaml' ? join(folder, word) : word));
    const ended = await muster(words, { env });
    expect(ended).toMatchObject({ code, out: '' });
    expect(ended.err).toMatch(oneLine);
    expect(ended.err).toContain(message);
  });

  test.each([
    [
      'a field that is misspelt',
      'id: a\nrequestType: SERVICE\ninstnaces: 3\n',
      ":3: there is no field 'instnaces' (did you mean 'instances'?)",
    ],
    [
      'one further in, in the second document',
      'id: a\nrequestType: SERVICE\n---\ndeploy:\n  requestId: a\n  resources:\n    memory: 3\n',
      ":7: there is no field 'memory' of deploy.resources (did you mean 'memoryMb'?)",
    ],
    [
      'a value of another type',
      '{"id": "a",\n "requestType": "SERVICE",\n "instances": "3"}',
      ':3: instances must be a whole number, not "3"',
    ],
    ['a word that is none', 'id: a\nrequestType: SERVER\n', ':2: requestType must be one of SERVICE, '],
    ['a field that is missing', 'deploy:\n  command: sleep 1\n', ':1: deploy.requestId is required'],
    [
      'a word that is missing',
      'id: a\nrequestType: ON_DEMAND\nafter: [{ requestId: b }]\n',
      ':3: after.0.on is required: one of SUCCESS, ',
    ],
    ['no YAML', 'id: a\n  b: [\n', ':1: '],
    ['a member twice', 'id: a\nid: b\nrequestType: SERVICE\n', ':2: Map keys must be unique'],
    ['nothing in it', '# empty\n', ': there is no request and no deploy in it'],
  ])('a file with %s', async (_name, text, message) => {
    const path = file('wrong.yaml', text);
    for (const command of ['apply', 'deploy', 'plan']) {
      const ended = await muster([command, '-f', path], { env });
      expect(ended).toMatchObject({ code: 2, out: '' });
      expect(ended.err).toMatch(oneLine);
      expect(ended.err).toContain(`wrong.yaml${message}`);
    }
  });

  test('denied: without a token, and with one that opens nothing', async () => {
    const url = guarded.api.url;
    const none = await muster(['requests', '--url', url], { env });
    expect(none).toMatchObject({ code: 5, out: '' });
    expect(none.err).toMatch(oneLine);
    expect(none.err).toContain('MUSTER_TOKEN');
    expect((await muster(['requests', '--url', url, '--token', 'muster_a_b'], { env })).code).toBe(5);
  });

  test('a conflict: a job without a deploy cannot run, a paused request cannot be paused', async () => {
    await muster(['apply', '-f', file('idle.yaml', 'id: idle\nrequestType: ON_DEMAND\n')], { env });
    expect(await muster(['run', 'idle'], { env })).toMatchObject({ code: 106 });
    expect(await muster(['pause', 'idle'], { env })).toMatchObject({ code: 0, out: 'idle is paused\n' });
    const again = await muster(['pause', 'idle'], { env });
    expect(again.code).toBe(6);
    expect(again.err).toMatch(oneLine);
    await muster(['remove', 'idle'], { env });
  });

  test('what is not Muster at the address, and what never answers', async () => {
    const silent = createServer(
      (request, response) => void (request.url!.includes('/tasks/') || response.writeHead(404).end('<html>')),
    );
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.closeAllConnections());
    onTestFinished(() => void silent.close());
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const stranger = await muster(['requests', '--url', url], { env });
    expect(stranger.code).toBe(1);
    expect(stranger.err).toMatch(/^muster: .*is this the address of a Muster\?\n$/);
    const never = await muster(['ps', '--url', url, '--timeout', '1'], { env });
    expect(never.code).toBe(3);
    expect(never.err).toMatch(oneLine);
  });
});

test('a reader that leaves early is no failure, of help as of answers', async () => {
  for (const words of ['--help', 'ps --help', 'requests --json']) {
    expect(await shell(`muster ${words} | true`, { env }), words).toEqual({ code: 0, out: '', err: '' });
  }
}, 30_000);

test('a server is told to refuse what it does not know', async () => {
  const told: unknown[] = [];
  const listener = createServer((request, response) => {
    told.push(request.headers.prefer);
    response.setHeader('content-type', 'application/json').end('[]');
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void listener.close());
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  expect((await muster(['requests', '--url', url], { env })).code).toBe(0);
  expect(told).toEqual(['handling=strict']);
});

test('tokens and contexts: kept for their owner alone, never shown, and sent to their own address only', async () => {
  const config = join(folder, 'own-config');
  const own = { ...env, XDG_CONFIG_HOME: config };
  const made = await shell('muster token --bootstrap | tail -n 1', {
    env: { ...own, MUSTER_DATA_DIR: secured.dataDir, MUSTER_CONFIG: join(secured.dataDir, 'settings.json') },
  });
  const token = made.out.trim();
  expect(token).toMatch(/^muster_/);
  const set = await muster(['context', 'set', 'guarded', `${guarded.api.url}/api/`, '--token', '@-'], {
    env: own,
    stdin: token,
  });
  expect(set).toMatchObject({ code: 0, err: '' });
  expect(statSync(join(config, 'muster', 'contexts.json')).mode & 0o777).toBe(0o600);
  expect((await muster(['requests', '--json'], { env: own })).out).toBe('[]\n');
  const shown = await muster(['context', 'list', '--json'], { env: own });
  expect(JSON.parse(shown.out)).toEqual([{ name: 'guarded', url: guarded.api.url, hasToken: true, current: true }]);
  const seen: (string | undefined)[] = [];
  const listener = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('[]');
  });
  const port = await freePort();
  await new Promise<void>((resolve) => listener.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void listener.close());
  const elsewhere = `http://127.0.0.1:${port}`;
  expect((await muster(['requests', '--url', elsewhere], { env: own })).code).toBe(0);
  expect((await muster(['requests'], { env: { ...own, MUSTER_URL: elsewhere } })).code).toBe(0);
  expect(seen).toEqual([undefined, undefined]);
  await muster(['context', 'set', 'guarded', elsewhere], { env: own });
  await muster(['requests'], { env: own });
  expect(seen[2]).toBeUndefined();
  await muster(['context', 'set', 'guarded', guarded.api.url, '--token', token], { env: own });
  await shell(`chmod 644 '${config}/muster/contexts.json'`);
  expect((await muster(['requests'], { env: own })).err).toMatch(/^muster: .*others can read it: chmod 600 /);
}, 60_000);

test('apply a second time changes nothing, and what differs is deployed under an id of its own', async () => {
  const text = (colour: string): string => `id: twice
requestType: WORKER
instances: 2
owners: []
---
deploy:
  requestId: twice
  shell: true
  command: exec sleep 1000
  env: { COLOUR: ${colour}, PORT: 8080 }
  resources: { cpus: 0.1, memoryMb: 16 }
`;
  const apply = async (colour: string): Promise<string[]> => {
    const ended = await muster(['apply', '-f', '-', '--wait', '--json'], { env, stdin: text(colour) });
    expect(ended, ended.err).toMatchObject({ code: 0 });
    return (JSON.parse(ended.out) as { result: string; deployId?: string }[]).map(
      ({ result, deployId = '' }) => `${result} ${deployId}`,
    );
  };
  const events = () => instance.api.get<unknown[]>('history/request/twice/requests?count=100');
  const [, first] = await apply('red');
  const seen = (await events()).length;
  expect(await apply('red')).toEqual(['unchanged ', first!.replace('deployed', 'unchanged')]);
  expect(await events()).toHaveLength(seen);
  const [, second] = await apply('blue');
  expect(second).toMatch(/^deployed [0-9a-f]{12}$/);
  expect(second).not.toBe(first);
  expect(await apply('red')).toEqual(['unchanged ', `${first}.2`]);
  const clash = await muster(['apply', '-f', '-'], {
    env,
    stdin: text('green').replace('deploy:\n', `deploy:\n  id: ${first!.split(' ')[1]}.2\n`),
  });
  expect(clash).toMatchObject({ code: 7, out: '' });
  expect(clash.err).toContain("was used before by request 'twice': choose another, or leave it out");
  await muster(['remove', 'twice'], { env });
}, 90_000);

test('explain tells what a task that starts waits for', async () => {
  await instance.api.saveRequest({ id: 'prepares', requestType: 'SERVICE' });
  const tasks = { init: [{ name: 'fetch-model', command: 'sleep 1000' }] };
  await instance.api.deploy({ requestId: 'prepares', id: 'v1', command: 'sleep 1000', tasks } as never);
  await waitFor('the line of the task', async () => {
    const { out } = await muster(['explain', 'prepares'], { env });
    return /^prepares-v1-\S+: TASK_STARTING for \S.*: Staging files/m.test(out) && out.includes('fetch-model');
  });
  await muster(['remove', 'prepares'], { env });
}, 60_000);

test('a group keeps its windows and notes when its requests change, and explain tells that they are closed', async () => {
  const windows = file('windows.yml', 'deployWindows:\n  - { from: 4070908800000, to: 4070995200000 }\n');
  const list = file('list.yml', '- { schedule: 0 9 * * MON-THU, durationMillis: 60000 }\n');
  const groups = async (...words: string[]) => {
    const { code, out, err } = await muster(['groups', 'checkout', ...words, '--json'], { env });
    return code === 0 ? (JSON.parse(out) as Record<string, unknown>) : { code, err };
  };
  await instance.api.saveRequest({ id: 'till', requestType: 'SERVICE' });
  await instance.api.post('groups', { id: 'checkout', requestIds: ['till'], metadata: { owner: 'ann' } });
  const deployWindows = [{ from: 4_070_908_800_000, to: 4_070_995_200_000 }];
  const kept = { id: 'checkout', requestIds: ['till'], metadata: { owner: 'ann' } };
  expect(await groups('--windows', windows)).toEqual({ ...kept, deployWindows });
  expect(await groups('--save', 'till', 'other')).toEqual({ ...kept, requestIds: ['till', 'other'], deployWindows });
  const refused = await muster(
    ['deploy', '-f', file('till.json', '{"deploy": {"requestId": "till", "command": "true"}}')],
    { env },
  );
  expect([refused.code, refused.err]).toEqual([exitCodes.conflict, expect.stringContaining("group 'checkout'")]);
  const text =
    "Deploys of request 'till' start within the deployWindows of group 'checkout' only; the next one opens at 2099-01-01";
  expect((await muster(['explain', 'till'], { env })).out).toContain(text);
  expect((await muster(['groups'], { env })).out).toContain('2099-01-01');
  expect(await groups('--windows', list)).toMatchObject({ deployWindows: [{ schedule: '0 9 * * MON-THU' }] });
  expect(await groups('--any-time')).toEqual({ ...kept, requestIds: ['till', 'other'] });
  expect(await groups('--windows', file('no.yml', 'windows: []'))).toMatchObject({ code: exitCodes.usage });
  expect(await groups('--windows', list, '--any-time')).toMatchObject({ code: exitCodes.usage });
  expect((await muster(['groups', 'nobody', '--windows', list], { env })).code).toBe(exitCodes.notFound);
});

describe('call', () => {
  const call = (...words: string[]) => muster(['call', ...words], { env });

  test('makes any call: with a body of the line, a file or standard input, and with a query', async () => {
    await call('post', 'requests', '-d', JSON.stringify({ id: 'called', requestType: 'SERVICE', instances: 1 }));
    const asked = JSON.stringify({ priority: 0.9, message: 'by hand' });
    for (const data of [asked, `@${file('priority.json', asked)}`]) {
      const { code, out } = await call('PUT', '/api/requests/request/called/priority', '-d', data);
      expect({ code, requestId: JSON.parse(out).request.id }).toEqual({ code: 0, requestId: 'called' });
    }
    const changes = await call('GET', 'history/request/called/requests?count=1&count=1');
    expect(changes.code).toBe(7);
    const newest = await call('GET', 'history/request/called/requests?count=1&page=1');
    expect(JSON.parse(newest.out)).toMatchObject([{ message: 'by hand' }]);
    expect(await call('DELETE', 'requests/request/called')).toMatchObject({ code: 0 });
  });

  test.each([
    ['a path that is none', ['GET', 'request/called'], 2, 'there is no operation GET /api/request/called'],
    ['another method', ['PATCH', 'requests'], 2, 'there is no operation PATCH /api/requests (there is GET, POST)'],
    ['a body that is no JSON', ['POST', 'requests', '-d', '{id'], 2, '--data is not JSON'],
    ['a file that is not there', ['POST', 'requests', '-d', '@none.json'], 2, '--data cannot be read'],
    ['half an escape', ['GET', 'requests/request/%zz'], 2, 'that begins no byte'],
    ['what is not there', ['GET', 'requests/request/nobody'], 4, 'nobody'],
    [
      'a field that there is not',
      ['POST', 'requests', '-d', '{"id":"x","requestType":"SERVICE","instanses":1}'],
      7,
      'instanses',
    ],
    ['a parameter that there is not', ['GET', 'history/tasks?cuont=5'], 7, 'cuont'],
  ])('%s is said', async (_case, words, code, message) => {
    const ended = await call(...words);
    expect(ended.code).toBe(code);
    expect(ended.err).toMatch(oneLine);
    expect(ended.err).toContain(message);
  });

  test('prints text and files as they are', async () => {
    expect(await call('GET', '/healthz')).toMatchObject({ code: 0, out: expect.stringContaining('"status"') });
    const { code, out } = await call('GET', '/metrics');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^# HELP /m) });
  });
});

describe('run', () => {
  const job = (id: string, command: string): string =>
    `id: ${id}\nrequestType: ON_DEMAND\n---\ndeploy: { requestId: ${id}, shell: true, command: '${command}', resources: { cpus: 0.1, memoryMb: 16 } }\n`;
  beforeAll(async () => {
    const files = job('seven', 'echo out; echo err >&2; exit 7').concat(
      '---\n',
      job('slow', 'echo begun; exec sleep 1000'),
    );
    await muster(['apply', '-f', '-', '--wait'], { env, stdin: files });
  }, 60_000);

  test('ends with the exit code of the task, and passes on what it prints', async () => {
    expect(await muster(['run', 'seven'], { env })).toEqual({ code: 7, out: 'out\n', err: 'err\n' });
    const told = await muster(['run', 'seven', '--json'], { env });
    expect(JSON.parse(told.out)).toMatchObject({ requestId: 'seven', state: 'TASK_FAILED', exitCode: 7 });
    expect(told.code).toBe(7);
  });

  test.each([
    { flags: [], left: 1, says: 'slow runs on: muster logs slow-' },
    { flags: ['--kill-on-interrupt'], left: 0, says: 'is being killed' },
  ])('Ctrl-C with $flags: $says', async ({ flags, left, says }) => {
    const ended = await muster(['run', 'slow', ...flags], {
      env,
      watch: (out, kill) => out.includes('begun') && kill('SIGINT'),
    });
    expect(ended.code).toBe(130);
    expect(ended.err).toContain(says);
    const active = async () => (await instance.api.get<unknown[]>('history/request/slow/tasks/active')).length;
    await waitFor('the tasks that are left', async () => (await active()) === left);
    if (left > 0) expect((await muster(['kill', 'slow'], { env })).code).toBe(0);
    await waitFor('its end', async () => (await active()) === 0);
  });

  test('a task that is killed has no exit code of its own', async () => {
    const running = muster(['run', 'slow'], { env });
    await waitFor('the task', async () => (await muster(['kill', 'slow'], { env })).code === 0, {
      timeoutMillis: 20_000,
    });
    const { code, err } = await running;
    expect(code).toBe(109);
    expect(err).toMatch(/^muster: slow-\S+ ended as TASK_KILLED: /);
  });
});
