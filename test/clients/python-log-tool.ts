import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';

const run = promisify(execFile);
const version = '0.29.3';
const installMillis = 600_000;

/** The published log tool as it is, with the Python that it was written for. */
export interface LogTool {
  python: string;
  /** Directory in which it is installed, outside of the repository. */
  folder: string;
}

/** undefined: it cannot be had here, and a line says why. */
export async function findLogTool(): Promise<LogTool | undefined> {
  const python = await findPython();
  if (python === undefined) return leaveOut('there is no Python 2.7');
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'muster-tests');
  const folder = join(cache, `logfetch-${version}`);
  if (existsSync(folder)) return { python, folder };
  mkdirSync(cache, { recursive: true });
  const half = mkdtempSync(join(cache, 'half-'));
  try {
    // One of its dependencies is compiled.
    const options = ['--quiet', '--disable-pip-version-check', '--no-warn-script-location', '--target', half];
    const words = ['-m', 'pip', 'install', ...options, `singularity-logfetch==${version}`];
    await run(python, words, { timeout: installMillis, maxBuffer: 100 * 2 ** 20 });
    renameSync(half, folder);
    return { python, folder };
  } catch (cause) {
    rmSync(half, { recursive: true, force: true });
    const [reason = ''] = String((cause as { stderr?: string }).stderr || cause)
      .split('\n')
      .filter((line) => /error/i.test(line));
    return leaveOut(`singularity-logfetch ${version} cannot be installed with pip (${reason.trim()})`);
  }
}

function leaveOut(why: string): undefined {
  console.log(`Tests of the Python log tool are left out: ${why}`);
  return undefined;
}

/** On the path, or where a version manager keeps it. */
async function findPython(): Promise<string | undefined> {
  const kept = join(process.env['PYENV_ROOT'] || join(homedir(), '.pyenv'), 'versions');
  const versions = existsSync(kept) ? readdirSync(kept).filter((name) => name.startsWith('2.7')) : [];
  for (const python of ['python2.7', ...versions.map((name) => join(kept, name, 'bin', 'python2.7'))]) {
    const asked = run(python, ['-c', 'import sys, pip; print(sys.executable)'], { timeout: 20_000 });
    const found = await asked.catch(() => undefined);
    if (found) return found.stdout.trim();
  }
  return undefined;
}

export type Command = 'logfetch' | 'logcat' | 'logtail' | 'logsearch';

/** Its settings file and what it has downloaded, in a folder of the test's own. */
export class LogToolHome {
  private readonly cache: string;

  constructor(
    private readonly tool: LogTool,
    private readonly folder: string,
    settings: { url: string; headers?: Record<string, string> },
  ) {
    this.cache = join(folder, 'cache');
    mkdirSync(join(folder, '.logfetch'), { recursive: true });
    const headers = Object.entries(settings.headers ?? {}).map(([name, value]) => `${name} = ${value}`);
    const lines = [`singularity_uri_base = ${settings.url}`, `dest = ${this.cache}`, '[Request Headers]', ...headers];
    writeFileSync(join(folder, '.logfetch', 'default'), `${lines.join('\n')}\n`);
  }

  /** One that ends by itself. What it colours is told without colours. */
  async run(command: Command, ...words: string[]): Promise<{ stdout: string; stderr: string }> {
    const { stdout, stderr } = await run(this.tool.python, this.words(command, words), {
      env: this.environment,
      timeout: 60_000,
      maxBuffer: 100 * 2 ** 20,
    });
    return { stdout: plain(stdout), stderr: plain(stderr) };
  }

  /** One that goes on until it is killed. */
  begin(command: Command, ...words: string[]): Tail {
    return new Tail(spawn(this.tool.python, this.words(command, words), { env: this.environment }));
  }

  /** Files that were fetched, by their names. */
  fetched(into = this.cache): Record<string, string> {
    if (!existsSync(into)) return {};
    return Object.fromEntries(readdirSync(into).map((name) => [name, readFileSync(join(into, name), 'utf8')]));
  }

  forget(): void {
    rmSync(this.cache, { recursive: true, force: true });
  }

  private words = (command: Command, words: string[]): string[] => [join(this.tool.folder, 'bin', command), ...words];

  private get environment(): NodeJS.ProcessEnv {
    const { PATH } = process.env;
    return { PATH, HOME: this.folder, PYTHONPATH: this.tool.folder, PYTHONUNBUFFERED: '1', TZ: 'UTC' };
  }
}

export class Tail {
  stdout = '';
  stderr = '';

  constructor(private readonly child: ChildProcessWithoutNullStreams) {
    child.stdout.on('data', (text) => (this.stdout += plain(String(text))));
    child.stderr.on('data', (text) => (this.stderr += plain(String(text))));
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async kill(): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}

const plain = (text: string): string => stripVTControlCharacters(text);
