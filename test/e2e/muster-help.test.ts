import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { commands } from '../../src/cli/commands/index.js';
import { waitFor } from '../support/wait-for.js';
import { muster, program, shell } from './support/muster-command.js';
import { Installation, type Instance } from './support/product.js';

/** Each command's help alone is enough to use it: the examples in it run against the built product. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const installation = new Installation({
  settings: { ui: { shellCommands: [{ name: 'jstack', description: 'prints a line' }] } },
  local: { shellCommands: [{ name: 'jstack', command: ['echo', 'hello'], options: [] }] },
});
const folder = mkdtempSync(join(tmpdir(), 'mu-cli-'));
let instance: Instance;
let env: Record<string, string>;
const file = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const inFolder = (line: string) => shell(`cd '${folder}'\n${line}`, { env });

const namesOf = (isServer: boolean): string[] =>
  commands
    .filter(({ topic }) => (topic === 'Servers:') === isServer)
    .flatMap(({ summaries }) => Object.keys(summaries));
/** In an order in which each finds what it needs. */
const first = ['plan'];
const last = ['pause', 'unpause', 'freeze', 'activate', 'decommission', 'remove'];
/** Codes other than 0 that an example may end with: the id in it is made up, or no deploy waits for a gate. */
const otherCodes: Record<string, number> = {
  'muster approve web -m "looks good"': 6,
  'muster reject web -m "too slow"': 6,
  'muster token revoke 3f9a1c52e07b': 4,
  'muster backfill report --cancel 0b8e2c1a-6f1d-4e0b-9f55-1c2d3e4f5a6b': 4,
  'muster flow --run 1c1b6a0e-6f0a-4a43-9a5e-1f6b8a3c0f11': 4,
  'muster flow --rerun 1c1b6a0e-6f0a-4a43-9a5e-1f6b8a3c0f11 --from report': 4,
};
const forThreeSeconds = `timeout -s INT 3 '${process.execPath}' '${program}'`;

beforeAll(async () => {
  instance = await installation.start();
  env = { MUSTER_DATA_DIR: installation.dataDir, XDG_CONFIG_HOME: join(folder, 'config'), DATABASE_URL: '' };
  cpSync(join(root, 'examples'), join(folder, 'examples'), { recursive: true });
  mkdirSync(join(folder, 'logs'));
  file('hook.key', 'a-key-of-the-hook-that-is-long-enough');
  file('staging.token', 'a-token');
  file('windows.yml', '- {schedule: 0 9 * * 1-5, scheduleTimeZone: Europe/Rome, durationMillis: 28800000}\n');
  for (const name of ['web', 'worker', 'report', 'greet', 'fragile']) {
    const files = `examples/${name}/request.json examples/${name}/deploy-v1.json`;
    const { code, out, err } = await inFolder(`muster apply -f ${files} --wait`);
    if (code !== 0) throw new Error(out + err);
  }
  await instance.api.post('requests', { id: 'nightly', requestType: 'SCHEDULED', schedule: '0 3 * * *' });
  await inFolder('muster run greet Ada');
}, 120_000);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await installation.dispose();
}, 120_000);

test('TAB completes ids that the server knows, and says nothing where there is none', async () => {
  const complete = async (...words: string[]): Promise<string[]> => {
    const { code, out, err } = await muster(['complete', '--', ...words], { env });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out
      .split('\n')
      .slice(0, -2)
      .map((line) => line.split('\t')[0]!);
  };
  expect(await complete('scale', 'w')).toEqual(['web', 'worker']);
  expect(await complete('logs', 'web', 'wor')).toContain('worker');
  expect(await complete('kill', 'web-')).toHaveLength(3);
  expect(await complete('freeze', '')).toHaveLength(1);
  expect(await complete('freeze', '--rack', '')).toHaveLength(1);
  expect(await complete('scale', '--url', 'http://127.0.0.1:1', 'w')).toEqual([]);
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  expect(await complete('scale', '--url', `http://127.0.0.1:${port}`, 'w')).toEqual([]);
}, 60_000);

/** Waits until the work that an example has begun is over: the next one finds all instances. */
async function settled(): Promise<void> {
  await waitFor('nothing to be under way', async () => {
    const [deploys, ids] = await Promise.all([
      instance.api.get<unknown[]>('deploys/pending'),
      instance.api.get<string[]>('requests/ids'),
    ]);
    if (deploys.length > 0 || !ids.includes('web')) return deploys.length === 0;
    const { taskIds, state } = await instance.api.request('web');
    const { pending, cleaning, notYetHealthy, killed } = taskIds!;
    return state !== 'ACTIVE' || [pending, cleaning, notYetHealthy, killed].every((each) => each.length === 0);
  });
}

test.each([...first, ...namesOf(false).filter((name) => ![...first, ...last].includes(name)), ...last])(
  'the examples of muster %s run',
  async (name) => {
    const help = await muster([name, '--help'], { env });
    expect(help).toMatchObject({ code: 0, err: '' });
    const lines = help.out.split('\nExamples:\n')[1]!.split('\n\n')[0]!.trimEnd().split('\n');
    for (const line of lines.map((each) => each.replace(/^ {2}\$ /, ''))) {
      // Those that go on until Ctrl-C are given it.
      const follows = / --watch( |$)/.test(line) || (/ -f( |$)/.test(line) && /^muster (logs|events)/.test(line));
      const given = follows ? `${line.replace(/^muster/, forThreeSeconds)} || test $? = 124` : line;
      const ended = await inFolder(given);
      expect(ended.code, `${line}\n${ended.out}${ended.err}`).toBe(otherCodes[line] ?? 0);
      // Without a machine nothing goes on.
      if (!last.includes(name)) await settled();
    }
  },
  120_000,
);

test('those that run servers have examples', async () => {
  for (const name of namesOf(true)) {
    const help = await muster([name, '--help'], { env });
    expect(help, name).toMatchObject({ code: 0, err: '' });
    expect(help.out).toContain('\nExamples:\n  $ ');
  }
}, 60_000);

test('TAB completes commands and flags', async () => {
  expect((await muster(['complete', '--', 're'], { env })).out).toMatch(/^requests\t/);
  expect((await muster(['complete', '--', 'deploy', '--'], { env })).out).toMatch(/^--file\t/m);
  for (const name of ['bash', 'zsh', 'fish', 'powershell']) {
    expect((await muster(['completion', name], { env })).out, name).toContain('muster');
  }
}, 60_000);
