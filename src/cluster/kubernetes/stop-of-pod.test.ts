import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { stopWords } from './stop-of-pod.js';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

/** Processes with numbers of their own, as those of a pod have; the first one is the main program. */
describe.skipIf(!isRoot)('the hook of a pod', () => {
  /** A program that writes what it gets into `notes`, and ends with `end`. */
  async function begin(name: string): Promise<{ pid: number; notes: () => string[]; ended: Promise<unknown> }> {
    const { path, remove } = tempFolder();
    onTestFinished(remove);
    const file = join(path, 'notes');
    const note = (text: string) =>
      `require('fs').appendFileSync(${JSON.stringify(file)}, ${JSON.stringify(`${text}\n`)})`;
    const script = `process.title = ${JSON.stringify(name)}; process.on('SIGQUIT', () => { ${note('QUIT')}; process.exit() });
      setInterval(() => 0, 1000); ${note('began')}`;
    const program = spawned('unshare', ['--pid', '--mount-proc', '--fork', '--kill-child', 'node', '-e', script]);
    const notes = () => {
      try {
        return readFileSync(file, 'utf8').split('\n').slice(0, -1);
      } catch {
        return [];
      }
    };
    await waitFor('its begin', () => notes().length === 1);
    const [pid] = readFileSync(`/proc/${program.pid}/task/${program.pid}/children`, 'utf8').split(' ');
    return { pid: Number(pid), notes, ended: once(program, 'exit') };
  }

  function spawned(program: string, args: readonly string[]): ChildProcess {
    const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, isOver: '1', nap: 'x' } });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }

  const inside = (pid: number, words: readonly string[]) =>
    spawned('nsenter', [`--target=${pid}`, '--pid', '--mount', '--', ...words]);
  const hook = (changes: Partial<LaunchSpec>): string[] => stopWords(launchSpec(changes))!;

  test.each(['main', 'a) S 0 (b', 'x)\n(y', ''])('sends its signal to a main program of the name %j', async (name) => {
    const main = await begin(name);
    const beside = inside(main.pid, ['sleep', '600']);
    inside(main.pid, hook({ killSignal: 'SIGQUIT' }));
    await main.ended;
    expect(main.notes()).toEqual(['began', 'QUIT']);
    // It has ended with the namespace, and by nothing before.
    if (beside.exitCode === null && beside.signalCode === null) await once(beside, 'exit');
    expect(beside.signalCode).toBe('SIGKILL');
  });

  test('leaves nothing of the time limit of its line behind, at whatever moment that ends', async () => {
    const main = await begin('main');
    const lines = ['exit 3', ':', 'sleep 0.001', 'sleep 0.003', 'sleep 0.01', 'sleep 0.1'];
    for (const command of lines) {
      const hooks = Array.from({ length: 8 }, () => hook({ preStop: { command, timeoutMillis: 600_000 } }));
      await Promise.all(hooks.map((words) => once(inside(main.pid, words), 'exit')));
    }
    const children = () => readFileSync(`/proc/${main.pid}/task/${main.pid}/children`, 'utf8').trim();
    await waitFor('the end of all of it', () => children() === '');
    expect(main.notes()).toEqual(['began']);
  });
});
