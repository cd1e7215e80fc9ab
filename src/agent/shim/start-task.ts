import { basename } from 'node:path';
import { fitsKernel } from '../../core/launch/index.js';
import type { LaunchSpec, ProgramOfLaunch } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import { fetchArtifacts, type FetchServices } from '../artifacts/fetch.js';
import { DeployFault } from '../artifacts/order.js';
import type { TaskGroup } from '../cgroups/cgroups.js';
import { type GroupLimits } from '../cgroups/group-files.js';
import { bytesOfMb } from '../../platform/files.js';
import type { RunAs } from '../processes/run-as.js';
import { createSandbox, type ExecutorLayout, type NewFile, type Sandbox } from '../sandbox/sandbox-layout.js';
import type { TaskDirectory } from '../state/task-directory.js';
import {
  bootstrapEnvironment,
  commandOf,
  commandOfProgram,
  programEnvironment,
  type TaskCommand,
  taskEnvironment,
} from './command.js';
import { beyondShells, isBeyondShells, isOfShells, launcherScript, shellFor, writeForUser } from './launcher.js';
import { type Shim, startShim } from './shim.js';
import { runner } from './shim-scripts.js';

interface StartContext extends AgentContext, FetchServices {}

/** Facts needed to start one task. */
export interface TaskStart {
  spec: LaunchSpec;
  directory: TaskDirectory;
  sandbox: Sandbox;
  group: TaskGroup;
  runAs: RunAs | undefined;
  /** Its abort ends the preparation; after that nothing is started. */
  signal: AbortSignal;
}

/** Prepares the sandbox and the limits of a task, before its first program is started. */
export async function prepare(context: StartContext, start: TaskStart): Promise<void> {
  const { spec, sandbox, group, runAs, signal } = start;
  const environment = taskEnvironment(spec, sandbox, runAs, context);
  refuseWithoutBash(environment, context.shell);
  await prepareSandbox({ context, spec, sandbox, environment, runAs, signal });
  group.create(limitsOf(context, spec));
}

/** Starts the main program under its shim. */
export async function startMain(context: StartContext, start: TaskStart): Promise<Shim> {
  const { spec, sandbox, runAs } = start;
  const { searchPath, shell } = context;
  const environment = taskEnvironment(spec, sandbox, runAs, context);
  const handedDown = beyondShells(environment);
  const starter = shellFor(environment, shell);
  const given = sandbox.executor ? { ...bootstrapEnvironment(environment, searchPath), ...handedDown } : environment;
  return startUnderShim(context, start, {
    command: commandOf(spec, sandbox, shell, starter),
    environment: given,
    handedDown,
    starter,
  });
}

/** Starts a program around the main one; the directory of `start` is that of this one start. */
export async function startProgram(context: StartContext, start: TaskStart, program: ProgramOfLaunch): Promise<Shim> {
  const { spec, sandbox, runAs } = start;
  const environment = programEnvironment(spec, program, sandbox, runAs, context);
  refuseWithoutBash(environment, context.shell);
  const starter = shellFor(environment, context.shell);
  return startUnderShim(context, start, {
    name: program.name,
    command: commandOfProgram(program, sandbox, starter),
    environment,
    handedDown: beyondShells(environment),
    starter,
  });
}

interface ProgramStart {
  /** Of a program around the main one. */
  name?: string;
  command: TaskCommand;
  environment: Record<string, string>;
  handedDown: Record<string, string>;
  /** The shell that runs shim and launcher. */
  starter: string;
}

async function startUnderShim(
  context: StartContext,
  { spec, directory, sandbox, group, runAs, signal }: TaskStart,
  { name, command, environment, handedDown, starter }: ProgramStart,
): Promise<Shim> {
  const limits = limitsOf(context, spec);
  if (!fitsKernel(environment, command.words)) throw new DeployFault('Command line and environment are too long');
  writeForUser(directory.launcher, launcherScript(environment, 'FILES'), runAs);
  // Nothing is awaited from this look until the process is there: no kill can come in between unseen.
  signal.throwIfAborted();
  return startShim(context.shim, directory, command, {
    sandboxRoot: sandbox.root,
    program: name,
    shell: starter,
    handedDown,
    switchUser: runAs?.prefix ?? [],
    cgroupFiles: group.procsFiles,
    // What the kernel counts is the user, which others of a named one share.
    maxProcesses: runAs?.own ? limits.maxProcesses : undefined,
    maxFileBytes: spec.diskMb > 0 ? bytesOfMb(spec.diskMb + fileSlackMb) : undefined,
  });
}

/** Names of variables are checked before; which shells a machine has is known there alone. */
function refuseWithoutBash(environment: Record<string, string>, shell: string): void {
  const [name] = Object.keys(beyondShells(environment));
  if (name === undefined || basename(shell) === 'bash') return;
  throw new DeployFault(`The variable ${name} needs /bin/bash on the machine: other shells lose such names`);
}

export const limitsOf = ({ settings }: Pick<AgentContext, 'settings'>, spec: LaunchSpec): GroupLimits => ({
  ...spec,
  maxProcesses: settings.maxProcessesPerTask,
});

/** So much longer than the disk of the task may one file become: it is the disk as a whole that is looked after. */
const fileSlackMb = 64;

interface Preparation {
  context: StartContext;
  spec: LaunchSpec;
  sandbox: Sandbox;
  environment: Record<string, string>;
  runAs: RunAs | undefined;
  /** Its abort ends the preparation early. */
  signal: AbortSignal;
}

/** Fills the sandbox with everything the task needs before its first instruction. */
async function prepareSandbox(preparation: Preparation): Promise<void> {
  const { sandbox, runAs, signal } = preparation;
  createSandbox(sandbox, runAs, sandbox.executor ? startFiles(sandbox.executor, preparation) : []);
  await fetchArtifacts(preparation);
  signal.throwIfAborted();
}

/** The variables may hold passwords. */
const startFiles = (layout: ExecutorLayout, { environment, context: { shell, settings } }: Preparation): NewFile[] => [
  { path: layout.deployEnv, text: deployEnv(environment), mode: 0o600 },
  { path: layout.runner, text: `#!${shell}\n${runner(settings)}`, mode: 0o755 },
];

/**
 * The file that a task with executorData sources: one export per variable, in the order given. `$NAME` and `${NAME}` in a value
 * are expanded where that variable is set by then: one above it, one of the agent's, or one of the machine's profile. `$$` stands
 * for a dollar sign. Everything else is literal, names that nothing has set among them: a password may have a `$`. Variables
 * beyond shells are not in it; they are handed down as they are.
 */
export function deployEnv(environment: Record<string, string>): string {
  return Object.entries(environment)
    .filter(([name]) => !isBeyondShells(name))
    .map(([name, value]) => `export ${name}="${quoted(value)}"\n`)
    .join('');
}

const reference = /\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/;

/** Within double quotes a shell looks at these; an exclamation mark is plain in scripts. */
const special = /[\\"`$]/;
const either = new RegExp(`${reference.source}|${special.source}`, 'g');

const quoted = (value: string): string =>
  value.replace(either, (text: string, bare?: string, braced?: string) => {
    const name = bare ?? braced;
    if (text === '$$') return '\\$';
    if (name === undefined || isOfTheScript(name)) return text.replace(/[\\"`$]/g, '\\$&');
    return `\${${name}-${braced === undefined ? `\\$${name}` : `\\$\{${name}\\}`}}`;
  });

/** Set in the shell that reads the file, and not meant by anybody. */
const isOfTheScript = (name: string): boolean =>
  isOfShells(name) ||
  /^(IFS|OLDPWD|PWD|OPTARG|OPTERR|PS[0-4]|SHELL|HOST(NAME|TYPE)|MACHTYPE|OSTYPE|PIPESTATUS|COMP_WORDBREAKS|muster_\w+)$/.test(
    name,
  );
