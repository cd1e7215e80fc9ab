import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseStat, readStat } from '../../src/agent/processes/process-identity.js';
import { launcherScript } from '../../src/agent/shim/launcher.js';
import { installShim } from '../../src/agent/shim/shim-scripts.js';
import { TaskDirectory } from '../../src/agent/state/task-directory.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tempFolder } from '../support/temp-folder.js';

const folder = tempFolder();
let shim: string;
beforeAll(async () => (shim = await installShim(folder.path)));
afterAll(() => folder.remove());

const canRun = ([shell = '', ...words]: string[]): boolean => {
  try {
    execFileSync(shell, [...words, '-c', 'exit 0']);
    return true;
  } catch {
    return false;
  }
};
const shells = [['dash'], ['bash'], ['bash', '--posix'], ['busybox', 'sh']].filter(canRun);

let count = 0;
function newControl(): string {
  const control = join(folder.path, `control-${++count}`);
  mkdirSync(control);
  return control;
}

/** Runs the shim under a shell, and what it starts too. */
const runShim = (shell: string[], control: string, ...words: string[]) => runShimWith({}, shell, control, ...words);

async function runShimWith(
  environment: Record<string, string>,
  [shell = '', ...options]: string[],
  control: string,
  ...words: string[]
): Promise<number | null> {
  const [out, err] = [join(control, 'out'), join(control, 'err')];
  const launcher = [shell, ...options, '/proc/self/fd/3', control, out, err];
  writeFileSync(join(control, 'launcher'), launcherScript({ PATH: process.env.PATH ?? '', ...environment }, 'FILES'));
  const child = spawn(shell, [...options, shim, control, '', '', '0', ...launcher, ...words], {
    env: { PATH: process.env.PATH },
    detached: true,
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

describe.each(shells.map((shell) => ({ name: shell.join(' '), shell })))('the scripts under $name', ({ shell }) => {
  test('start a program with its words, and write down who it was and how it ended', async () => {
    const control = newControl();
    const words = ['two words', '$HOME', '`id`', "'", '', '-x', 'new\nline'];
    expect(await runShim(shell, control, 'sh', '-c', 'printf "[%s]" "$@"; echo $$ >&2; exit 42', 'sh', ...words)).toBe(
      42,
    );
    expect(readFileSync(join(control, 'exit'), 'utf8')).toBe('42\n');
    expect(readFileSync(join(control, 'out'), 'utf8')).toBe(words.map((word) => `[${word}]`).join(''));
    const [main, shim] = readFileSync(join(control, 'task.new'), 'utf8').split('\n').map(parseStat);
    expect(String(main?.pid)).toBe(readFileSync(join(control, 'err'), 'utf8').trim());
    expect([main?.session, main?.parent]).toEqual([shim?.pid, shim?.pid]);
  });

  test.each(['TERM', 'INT', 'QUIT', 'HUP', 'KILL'])('tell an end by SIG%s', async (name) => {
    const control = newControl();
    const status = 128 + { TERM: 15, INT: 2, QUIT: 3, HUP: 1, KILL: 9 }[name]!;
    // By its path: a busybox would become its own shell otherwise, which does not mind SIGQUIT.
    await runShim(shell, control, '/bin/sh', '-c', `kill -${name} $$; exit 0`);
    expect(readFileSync(join(control, 'exit'), 'utf8')).toBe(`${status}\n`);
  });

  test('start nothing under a name that is taken', async () => {
    const control = newControl();
    expect(await TaskDirectory.at(control).forbidStart()).toBe(true);
    await runShim(shell, control, 'touch', join(control, 'started'));
    expect(existsSync(join(control, 'started'))).toBe(false);
    expect(await TaskDirectory.at(control).readStarted()).toBeUndefined();
    expect(await TaskDirectory.at(control).forbidStart()).toBe(true);
  });

  test('start nothing outside of a cgroup that cannot be joined', async () => {
    const control = newControl();
    const words = [shim, control, '', '', '1', '/nowhere/cgroup.procs', 'touch', join(control, 'started')];
    const child = spawn(shell[0]!, [...shell.slice(1), ...words], { stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([125, null]);
    expect(existsSync(join(control, 'started'))).toBe(false);
  });
});

/** Texts that a shell would like to make something else of. */
const oddTexts = {
  quotes: `'"'"''"`,
  dollars: '$HOME ${PATH} $(id) `id` $$ \\$',
  backslashes: '\\ \\\\ \\n \\0',
  lines: '\n\nexport INJECTED=1\n\n',
  blanks: '  \t ',
  empty: '',
  signs: '!#&|;<>(){}[]*?~=%^ ü 漢',
  large: "x'y ".repeat(25_000),
};

/** Names that mean something to one shell or another. */
const oddNames =
  'IFS PPID OPTIND OPTARG OPTERR UID EUID GROUPS LINENO RANDOM SECONDS EPOCHSECONDS SHLVL _ PWD OLDPWD SHELLOPTS BASHOPTS ' +
  'BASH_ENV ENV BASH_VERSION BASH_COMMAND BASH_ARGV DIRSTACK FUNCNAME HISTCMD PS1 PS4 CDPATH TMOUT LANG TZ REPLY MAIL';

describe.each(shells.map((shell) => ({ name: shell.join(' '), shell })))('variables under $name', ({ shell }) => {
  test.each([
    ...Object.entries(oddTexts).map(([name, text]) => ({ name, environment: { VARIABLE: text } })),
    ...oddNames.split(' ').map((name) => ({ name, environment: { [name]: `7 'x' "y" $z \\` } })),
    { name: 'many at once', environment: Object.fromEntries(oddNames.split(' ').map((name) => [name, 'a b'])) },
  ])('arrive as they are: $name', async ({ environment }) => {
    const control = newControl();
    expect(await runShimWith(environment, shell, control, '/usr/bin/env', '-0')).toBe(0);
    const lines = readFileSync(join(control, 'out'), 'utf8').split('\0');
    for (const [name, value] of Object.entries(environment)) expect(lines).toContain(`${name}=${value}`);
    expect(lines.some((line) => line.startsWith('INJECTED='))).toBe(false);
  });
});

test('between a start and its prohibition exactly one wins', async () => {
  let forbidden = 0;
  for (let round = 0; round < 40; round++) {
    const control = newControl();
    const start = () => runShim(['sh'], control, 'touch', join(control, 'started'));
    const forbid = () => TaskDirectory.at(control).forbidStart();
    // Each is so many milliseconds ahead of the other, in its turn.
    const ahead = (round % 10) - 5;
    const [first, second] = ahead < 0 ? [forbid, start] : [start, forbid];
    const running = first();
    await delay(Math.abs(ahead));
    const answers = await Promise.all([running, second()]);
    const isForbidden = answers[ahead < 0 ? 0 : 1] === true;
    expect(existsSync(join(control, 'started'))).toBe(!isForbidden);
    if (isForbidden) forbidden++;
  }
  expect(forbidden).toBeGreaterThan(0);
});

describe('in an agent', () => {
  let cluster: AgentCluster;
  beforeAll(async () => (cluster = await AgentCluster.start()));
  afterAll(() => cluster.close());

  test('the shim leads a session, in which it is not limited as the task is', async () => {
    const spec = await cluster.launch('exec sleep 600');
    await cluster.untilState(spec, 'TASK_RUNNING');
    const [main, shim] = readFileSync(cluster.control(spec, 'task.new'), 'utf8').split('\n').map(parseStat);
    expect(shim).toMatchObject({ session: shim?.pid, parent: process.pid });
    expect(readStat(main!.pid)).toMatchObject({ session: shim?.pid });
    const groups = (pid: number) => readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    if (!cluster.log.lines.some((line) => line.startsWith('cgroups'))) expect(groups(main!.pid)).toContain(spec.taskId);
    expect(groups(shim!.pid)).toBe(groups(process.pid));
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
  });

  test('an exit status that cannot be written is not lost', async () => {
    const spec = await cluster.launch('while [ ! -e end ]; do sleep 0.01; done; exit 7');
    await cluster.untilState(spec, 'TASK_RUNNING');
    // In the way of the shim, as a full disk would be.
    symlinkSync('nowhere/exit', cluster.control(spec, 'exit'));
    writeFileSync(cluster.sandbox(spec, 'end'), '');
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Exit code 7');
  });
});
