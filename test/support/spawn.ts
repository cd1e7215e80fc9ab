import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { basename, join, resolve, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';
import { bundlePrograms } from '../../scripts/servers.mjs';
import { waitFor } from './wait-for.js';

const register = new URL('./ts-register.mjs', import.meta.url).href;

export interface TestProcess {
  child: ChildProcess;
  pid: number;
  /** Lines of its output so far. */
  lines: string[];
  /** The first line (from now on or already there) that begins with `prefix`, without it. */
  line(prefix: string, timeoutMillis?: number): Promise<string>;
  /** Ends it, frozen or not, and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** Runs a TypeScript file of ours as a process of its own, for tests that freeze or kill it. */
export function spawnTs(file: URL, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): TestProcess {
  return spawnNode(['--import', register, fileURLToPath(file), ...args], env);
}

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const bundles = new Map<string, Promise<string>>();

/**
 * Runs a TypeScript file in one bundle with what the build has made of `src`: to load the application module by module
 * takes longer than most tests.
 */
export async function spawnOnBuild(
  file: URL,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<TestProcess> {
  const made = bundles.get(file.href) ?? bundleOnBuild(fileURLToPath(file));
  bundles.set(file.href, made);
  return spawnNode([await made, ...args], env);
}

/** Beside the servers, which have what they read and run. */
async function bundleOnBuild(file: string): Promise<string> {
  const name = basename(file, '.ts');
  const [sources, target] = [fromRoot('dist/src'), fromRoot('dist/servers')];
  await bundlePrograms({
    sources,
    target,
    entryPoints: [{ in: file, out: `tests/${name}` }],
    tsconfig: fromRoot('tsconfig.build.json'),
    plugins: [onBuild(sources)],
  });
  return join(target, 'tests', `${name}.js`);
}

/** Only the build has what decorators and the Swagger plugin note of the classes. */
const onBuild = (built: string): Plugin => ({
  name: 'on-build',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
      const wanted = resolve(resolveDir, path);
      const sources = fromRoot('src') + sep;
      return wanted.startsWith(sources) ? { path: join(built, wanted.slice(sources.length)) } : undefined;
    }),
});

/** Runs a Node program as a process of its own. */
export function spawnNode(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd?: string): TestProcess {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    cwd,
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', (line) => lines.push(line));
  return {
    child,
    pid: child.pid!,
    lines,
    line: async (prefix, timeoutMillis = 60_000) => {
      const find = () => {
        const found = lines.find((line) => line.startsWith(prefix));
        if (found === undefined && child.exitCode !== null) throw new Error(`It ended:\n${lines.join('\n')}`);
        return found;
      };
      return (await waitFor(`a line "${prefix}..."`, find, { timeoutMillis })).slice(prefix.length);
    },
    kill: async (signal = 'SIGKILL') => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}
