import { chownSync, rmSync, writeFileSync } from 'node:fs';
import type { RunAs } from '../processes/run-as.js';

/**
 * The last step before a program begins, taken as the user that it runs as. Environments of tasks pass through no process of
 * the agent's user (a variable may make a program do anything) and over no command line (every user can read those): they
 * are in a script that the shell reads from an open file, number 3.
 *
 *     /bin/sh /proc/self/fd/3 <directory> <stdout file> <stderr file> <words...>
 */
export const launcherWords = (shell: string): string[] => [shell, '/proc/self/fd/3'];

/** A shell that is everywhere. */
export const plainShell = '/bin/sh';

/**
 * Variables whose names no shell can say, such as `spring.profiles.active`. Each process on the way to the program hands them
 * down, which bash does and other shells do not. Names of other characters than dots and dashes are not among them: bash takes some
 * for functions, and runs them.
 */
export const beyondShells = (environment: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).filter(([name]) => isBeyondShells(name) && /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name)),
  );

/** The shell on the way to a program with these variables: `able` hands all of them down. */
export const shellFor = (environment: Record<string, string>, able: string): string =>
  Object.keys(environment).some(isBeyondShells) ? able : plainShell;

export const isBeyondShells = (name: string): boolean => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name);

/**
 * The outputs are opened here and not before: whatever the names stand for by now, it is opened with the rights of the task.
 * Empty names leave them as they are.
 */
const head = `exec 3<&- </dev/null
cd "$1" || exit 125
unset OLDPWD
[ -z "$2" ] || exec 4>>"$2" 5>>"$3" || exit 125
`;

/** Some shells would read what begins with a dash as an option of `exec`, and not all of them know `--` there. */
const noOption = (complaints: number) => `case $1 in -*) echo "$1: not found" >&${complaints}; exit 127 ;; esac
`;

/** The script, which sets all variables but those beyond shells. */
export function launcherScript(environment: Record<string, string>, outputs: 'FILES' | 'AS_THEY_ARE'): string {
  const variables = Object.entries(environment).filter(([name]) => !isBeyondShells(name));
  const exports = variables
    .filter(([name]) => !isOfShells(name))
    .map(([name, value]) => `export ${name}=${launcherLiteral(value)}\n`);
  const rest = variables
    .filter(([name]) => isOfShells(name))
    .map(([name, value]) => `${name}=${launcherLiteral(value)} `);
  const exec = rest.length > 0 ? `exec /usr/bin/env ${rest.join('')}"$@"` : 'exec "$@"';
  const redirected = outputs === 'FILES' ? ' >&4 2>&5 4>&- 5>&-' : '';
  return `${head}shift 3\n${noOption(outputs === 'FILES' ? 5 : 2)}${exports.join('')}${exec}${redirected}\n`;
}

/**
 * Variables that shells (dash, bash) read-only, count in or compute. They are none of the program's secrets, so they may be
 * seen on a command line for a moment.
 */
export const isOfShells = (name: string): boolean =>
  /^(_|PPID|E?UID|GROUPS|OPTIND|LINENO|S?RANDOM|SECONDS|EPOCH\w+|HISTCMD|DIRSTACK|FUNCNAME|SHLVL|SHELLOPTS|BASH\w*)$/.test(
    name,
  );

/** Within single quotes a shell takes everything but the quote as it is. */
export const launcherLiteral = (value: string): string => `'${value.replaceAll("'", `'\\''`)}'`;

/**
 * In a directory of the agent's own, so that only an open file leads there. At once: a program waits for it, and three short
 * steps in turn take longer than the work.
 */
export function writeForUser(path: string, text: string, runAs: RunAs | undefined): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o400, flag: 'wx' });
  if (runAs) chownSync(path, runAs.uid, runAs.gid);
}
