import { chownSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { processStart } from '../../src/platform/process/pid-file.js';
import { spawnNode, type TestProcess } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/** The set-up on copies of the project, as it is after a fresh clone. */
const project = fileURLToPath(new URL('../..', import.meta.url));
const leftOut = new Set(['node_modules', 'dist', 'dist.new', '.git', '.muster', '.setup', 'coverage', 'generated']);
/** No server listens there. */
const noNetwork = { npm_config_registry: 'http://127.0.0.1:1/' };

const processes: TestProcess[] = [];
afterEach(async () => {
  await Promise.all(processes.splice(0).map((each) => each.kill()));
});

function clone(name: string): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const folder = join(path, name);
  cpSync(project, folder, { recursive: true, filter: (source) => !leftOut.has(basename(source)) });
  return folder;
}
function run(folder: string, script: string, env: Record<string, string> = {}): TestProcess {
  const started = spawnNode([join(folder, 'scripts', script)], { DATABASE_URL: '', NODE_ENV: '', ...env });
  processes.push(started);
  return started;
}
const isRoot = process.getuid?.() === 0;
const nobody = fileURLToPath(new URL('../support/programs/as-nobody.mjs', import.meta.url));
function asNobody(folder: string, script: string, env: Record<string, string>): TestProcess {
  mkdirSync(env['MUSTER_DATA_DIR']!);
  chownSync(env['MUSTER_DATA_DIR']!, 65_534, 65_534);
  const started = spawnNode([nobody, join(folder, 'scripts', script)], { DATABASE_URL: '', NODE_ENV: '', ...env });
  processes.push(started);
  return started;
}
async function exitCode(each: TestProcess, timeoutMillis: number): Promise<number> {
  await waitFor('the command to end', () => each.child.exitCode !== null, { timeoutMillis }).catch((cause: unknown) => {
    throw new Error(`It printed:\n${each.lines.join('\n')}`, { cause });
  });
  return each.child.exitCode!;
}

test('two commands at once, without install scripts, as in production, in a path with a space; then without network', async () => {
  const folder = clone('with a space');
  const env = { npm_config_ignore_scripts: 'true', NODE_ENV: 'production' };
  const first = run(folder, 'build.mjs', env);
  await first.line('Installing packages');
  const second = run(folder, 'build.mjs', env);
  await second.line(`Another command (process ${first.pid}) is setting up`);
  expect(await exitCode(first, 420_000), first.lines.join('\n')).toBe(0);
  expect(await exitCode(second, 60_000), second.lines.join('\n')).toBe(0);
  expect(second.lines).toHaveLength(1);

  const emptyCache = join(folder, '.cache');
  const later = {
    ...noNetwork,
    npm_config_cache: emptyCache,
    MUSTER_PORT: '0',
    MUSTER_DATA_DIR: join(folder, 'data dir'),
  };
  // Another user than the one who built it starts it, where there is another.
  const product = isRoot ? asNobody(folder, 'start.mjs', later) : run(folder, 'start.mjs', later);
  const api = await product.line('  API         ', 60_000);
  expect((await fetch(api.replace(/\/api$/, '/readyz'))).status).toBe(200);
  product.child.kill('SIGTERM');
  expect(await exitCode(product, 60_000)).toBe(0);
  expect(existsSync(emptyCache)).toBe(false);
}, 600_000);

describe('one line says why, with exit code 1:', () => {
  test('the registry cannot be reached', async () => {
    const folder = clone('offline');
    const build = run(folder, 'build.mjs', { ...noNetwork, npm_config_cache: join(folder, '.cache') });
    expect(await exitCode(build, 120_000)).toBe(1);
    const said = build.lines.filter((line) => !/^(Installing packages| {2}still installing)/.test(line));
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^Cannot install the packages: the npm registry cannot be reached \(ECONNREFUSED\)/);
    // The next run begins anew.
    expect(existsSync(join(folder, '.setup', 'lock'))).toBe(false);
  }, 150_000);

  test('Node.js is too old', async () => {
    const folder = clone('old');
    const program = `Object.defineProperty(process.versions, 'node', { value: '18.20.0' }); import('./scripts/build.mjs')`;
    const build = spawnNode(['-e', program], {}, folder);
    processes.push(build);
    expect(await exitCode(build, 20_000)).toBe(1);
    expect(build.lines).toEqual(['Muster needs Node.js 20.19 or newer; this is 18.20.0']);
  });
});

describe('the lock', () => {
  const program = `import { withLock } from ${JSON.stringify(join(project, 'scripts', 'lock.mjs'))};
    import { appendFileSync } from 'node:fs';
    const [, lock, millis] = process.argv;
    // Into one file as well: which of two processes spoke first, their own lines cannot tell.
    const say = (word) => {
      appendFileSync(lock + '.log', word + ' ' + process.pid + '\\n');
      console.log(word);
    };
    await withLock(lock, async () => {
      say('in');
      await new Promise((resolve) => setTimeout(resolve, Number(millis)));
      say('out');
    });`;
  const enter = (lock: string, millis: number): TestProcess => {
    const started = spawnNode(['--input-type=module', '-e', program, lock, String(millis)]);
    processes.push(started);
    return started;
  };
  const log = (lock: string): string[] => readFileSync(`${lock}.log`, 'utf8').trim().split('\n');
  const place = (): string => {
    const { path, remove } = tempFolder();
    onTestFinished(remove);
    return join(path, 'lock');
  };

  test('is held by one at a time; one that waits says so', async () => {
    const lock = place();
    const first = enter(lock, 1_000);
    await first.line('in');
    const second = enter(lock, 0);
    await second.line(`Another command (process ${first.pid}) is setting up; waiting for it`);
    expect(await exitCode(second, 30_000)).toBe(0);
    expect(log(lock)).toEqual([`in ${first.pid}`, `out ${first.pid}`, `in ${second.pid}`, `out ${second.pid}`]);
  });

  test('of a command that was killed is taken over, by one of those who wait', async () => {
    const lock = place();
    const killed = enter(lock, 60_000);
    await killed.line('in');
    const waiting = [enter(lock, 300), enter(lock, 300)];
    await Promise.all(waiting.map((each) => each.line('Another command')));
    await killed.kill('SIGKILL');
    for (const each of waiting) expect(await exitCode(each, 30_000)).toBe(0);
    const turns = waiting.map(({ pid }) => [`in ${pid}`, `out ${pid}`]);
    expect([
      [...turns[0]!, ...turns[1]!],
      [...turns[1]!, ...turns[0]!],
    ]).toContainEqual(log(lock).slice(1));
    expect(existsSync(lock)).toBe(false);
  });

  test('is not taken over while something that the killed command started still runs', async () => {
    const lock = place();
    const survivor = enter(place(), 60_000);
    await survivor.line('in');
    mkdirSync(lock);
    const owners = [
      { pid: 2 ** 30, startedAt: 'long ago' },
      { pid: survivor.pid, startedAt: processStart(survivor.pid) },
    ];
    writeFileSync(join(lock, 'owners.json'), JSON.stringify(owners));
    const waiting = enter(lock, 0);
    await waiting.line('Another command');
    expect(waiting.lines).not.toContain('in');
    await survivor.kill('SIGKILL');
    await waiting.line('out');
  });
});

test.runIf(isRoot)('what another user would have to build says so', async () => {
  const folder = clone('of root');
  // Packages of another lockfile: there is something to do.
  mkdirSync(join(folder, 'node_modules'));
  const dataDir = join(folder, 'data');
  const refused = asNobody(folder, 'start.mjs', { MUSTER_DATA_DIR: dataDir });
  expect(await exitCode(refused, 30_000)).toBe(1);
  expect(refused.lines).toEqual([
    expect.stringMatching(/^It is not built .*\.setup cannot be written \(EACCES\): npm run build/),
  ]);
});

test('packages that a link leads to are left alone', async () => {
  const folder = clone('linked');
  const others = join(folder, '..', 'packages of others');
  mkdirSync(join(others, 'left-pad'), { recursive: true });
  symlinkSync(others, join(folder, 'node_modules'));
  const refused = run(folder, 'build.mjs', noNetwork);
  expect(await exitCode(refused, 30_000)).toBe(1);
  expect(refused.lines.join('\n')).toContain('is a link');
  expect(existsSync(join(others, 'left-pad'))).toBe(true);
});
