import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import type { LaunchSpec, ProgramOfLaunch } from '../../core/model/launch.js';
import { programVariable, sandboxVariable } from '../processes/processes.js';
import type { AgentContext } from '../agent-context.js';
import type { RunAs } from '../processes/run-as.js';
import { outputsOf, type Sandbox } from '../sandbox/sandbox-layout.js';

/** Program of the task, its output files, and its working directory. */
export interface TaskCommand {
  words: string[];
  stdout: string;
  stderr: string;
  workingDirectory: string;
}

/**
 * The user's words are arguments everywhere: none becomes part of a script. `lineShell` reads a command that is a line for a
 * shell.
 */
export function commandOf(spec: LaunchSpec, sandbox: Sandbox, shell: string, lineShell: string): TaskCommand {
  if (sandbox.executor) {
    const { directory, runner, serviceLog, bashLog } = sandbox.executor;
    const openFiles = String(spec.executorData?.maxOpenFiles ?? '');
    return {
      words: [shell, runner, directory, serviceLog, openFiles, shell, commandText(spec)],
      stdout: bashLog,
      stderr: bashLog,
      workingDirectory: directory,
    };
  }
  return plainCommand(spec.command, sandbox, lineShell, ['stdout', 'stderr']);
}

/** A program around the main one writes to files of its own. */
export const commandOfProgram = (program: ProgramOfLaunch, sandbox: Sandbox, lineShell: string): TaskCommand =>
  plainCommand(program.command, sandbox, lineShell, outputsOf(program));

const plainCommand = (
  { shell, value, arguments: words }: LaunchSpec['command'],
  { root }: Sandbox,
  lineShell: string,
  [stdout, stderr]: readonly [string, string],
): TaskCommand => ({
  words: [...(shell ? [lineShell, '-c', value, 'sh'] : [value]), ...words],
  stdout: join(root, stdout),
  stderr: join(root, stderr),
  workingDirectory: root,
});

/** cmd and its arguments are shell text as a whole: quoting in them is the user's. */
const commandText = (spec: LaunchSpec): string => [spec.command.value, ...spec.command.arguments].join(' ');

/** The program as people would call it, for messages. A line for a shell is none, also where it was meant to be a program. */
export function programName({ executorData, command: { shell, value } }: LaunchSpec): string {
  const isText = executorData !== undefined || shell || isShellLine(value);
  const program = isText ? (value.trim().split(/[\s;|&()<>]+/)[0] ?? '') : value;
  return basename(program) || 'command';
}

/** The launch's variables plus what only the machine knows. */
export function taskEnvironment(
  spec: LaunchSpec,
  sandbox: Sandbox,
  runAs: RunAs | undefined,
  { searchPath, settings }: Pick<AgentContext, 'searchPath' | 'settings'>,
): Record<string, string> {
  const { sandboxEnvPrefix: prefix } = settings;
  return {
    PATH: searchPath,
    HOME: runAs?.home ?? homedir(),
    ...spec.environment,
    ...(prefix && { [`${prefix}_TASK_ID`]: spec.taskId, [`${prefix}_SANDBOX`]: sandbox.root }),
    CLUSTER_TASK_ID: spec.taskId,
    [sandboxVariable]: sandbox.root,
  };
}

/** The variables of the task, those of the program, and one by which its processes are known. */
export const programEnvironment = (
  spec: LaunchSpec,
  program: ProgramOfLaunch,
  ...where: [Sandbox, RunAs | undefined, Pick<AgentContext, 'searchPath' | 'settings'>]
): Record<string, string> => ({
  ...taskEnvironment({ ...spec, environment: { ...spec.environment, ...program.environment } }, ...where),
  [programVariable]: program.name,
});

/** Environment that the start script of a task with executorData needs before it reads the rest from deploy.env. */
export function bootstrapEnvironment(environment: Record<string, string>, searchPath: string): Record<string, string> {
  const names = ['HOME', 'CLUSTER_TASK_ID', sandboxVariable];
  return { PATH: searchPath, ...Object.fromEntries(names.map((name) => [name, environment[name] ?? ''])) };
}

/** Blanks, and what means something to a shell: hardly ever in the name of a program. */
export const isShellLine = (text: string): boolean => /[\s|&;<>()$`"'*?]/.test(text);
