import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The commands of the built product that drive a server, as processes: in a pipe, and on a pseudo-terminal. */
export const program = fileURLToPath(new URL('../../../bin/muster.mjs', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Ended {
  code: number;
  out: string;
  err: string;
}

export interface CommandOptions {
  env?: Record<string, string>;
  stdin?: string;
  /** Called with what it has printed so far; may send signals. */
  watch?: (out: string, kill: (signal: NodeJS.Signals) => void) => void;
}

const environment = (env: Record<string, string>): NodeJS.ProcessEnv => {
  // Where CI or NO_COLOR are set nothing is coloured anywhere; no context of the person who runs the tests is used.
  const { CI: _ci, NO_COLOR: _none, FORCE_COLOR: _force, ...outer } = process.env;
  return { ...outer, XDG_CONFIG_HOME: '/nonexistent', TERM: 'xterm-256color', ...env };
};

export function muster(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return run(process.execPath, [program, ...args], options);
}

/** As one who sits at a terminal sees it: everything that it was told. */
export function musterOnTerminal(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const quoted = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  return run('script', ['-qfec', `stty cols 160 rows 40; exec ${quoted}`, '/dev/null'], options);
}

/** A line of a page, by a shell that has `muster` as a command. Bash takes a socket as its input for a login, and reads its settings. */
export function shell(line: string, options: CommandOptions = {}): Promise<Ended> {
  const body = `muster() { '${process.execPath}' '${program}' "$@"; }\n${line}`;
  return run('bash', ['--norc', '-uo', 'pipefail', '-c', body], options);
}

/** Runs the part of `muster demo` that follows the start, on a server that is ready. */
export function demoOn(url: string): Promise<Ended> {
  const demo = new URL('../../../dist/src/cli/server/demo.js', import.meta.url).href;
  const call = `import { deployExamples } from '${demo}'; await deployExamples(process.argv[1]);`;
  return run(process.execPath, ['--input-type=module', '-e', call, url], {});
}

function run(file: string, args: string[], { env = {}, stdin, watch }: CommandOptions): Promise<Ended> {
  const child = spawn(file, args, { cwd: root, env: environment(env), stdio: ['pipe', 'pipe', 'pipe'] });
  const told: Ended = { code: -1, out: '', err: '' };
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told.out += text;
    watch?.(told.out, kill);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (told.err += text));
  // It may end without having read it.
  child.stdin.on('error', () => undefined).end(stdin ?? '');
  const limit = setTimeout(() => child.kill('SIGKILL'), 120_000);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(limit);
      resolve({ ...told, code: code ?? -1 });
    });
  });
}
