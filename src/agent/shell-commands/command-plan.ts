import { join, relative } from 'node:path';
import type { ShellCommandOrder } from '../../cluster/cluster-driver.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import type { TaskContainer } from '../containers/task-container.js';
import { engineEnvironment } from '../containers/engine.js';
import { sandboxVariable } from '../processes/processes.js';
import type { ShellCommandSetting } from '../../platform/settings/local-settings.js';
import type { RunAs } from '../processes/run-as.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import { taskEnvironment } from '../shim/command.js';
import { plainShell, shellFor } from '../shim/launcher.js';
import type { CommandRecord } from './command-record.js';
import { type CommandPlan, commandVariable } from './command-run.js';
import { commandWords, findCommand, type InvalidCommand, isInvalid } from './command-words.js';
import { ownUser } from '../users/own-user.js';
import { taskPid } from './task-pid.js';

interface CommandTask {
  spec: LaunchSpec;
  sandbox: Sandbox;
  /** undefined: the agent's own user. */
  runAs: RunAs | undefined;
  /** undefined: it does not run (yet, or any more). */
  mainPid(): number | undefined;
  /** It runs in this one. */
  container: TaskContainer | undefined;
}

/** As it is seen from inside. */
const firstInContainer = 1;

/** Plans of commands in a task of this machine, which is processes or a container of an engine. */
export class CommandPlans {
  constructor(
    private readonly context: AgentContext,
    private readonly task: CommandTask,
  ) {}

  async plan(order: ShellCommandOrder, record: CommandRecord): Promise<CommandPlan | InvalidCommand> {
    const { context, task } = this;
    const { settings } = context;
    const mainPid = task.mainPid();
    if (mainPid === undefined) return { invalid: 'The task has no process' };
    const command = findCommand(order, settings.shellCommands);
    if (isInvalid(command)) return command;
    const { runAs } = task;
    const directory = task.sandbox.executor?.directory ?? task.sandbox.root;
    const pid =
      (await taskPid(task.sandbox.root, join(relative(task.sandbox.root, directory), settings.shellCommandPidFile))) ??
      (task.container ? firstInContainer : mainPid);
    if (typeof pid !== 'number') return pid;
    const user = runAs?.name ?? ownUser().username;
    if (task.container) return this.planInContainer(task.container, command, order, { pid, user }, directory, record);
    return {
      words: commandWords(command, order.options, { pid, user }, settings),
      environment: this.environment(directory, record),
      directory,
      sandboxRoot: task.sandbox.root,
      runAs,
      shell: context.shell,
      timeoutMillis: settings.shellCommandTimeoutMillis,
    };
  }

  /** Plan of a line that belongs to the task, unlike a command: its processes have the whole environment of the task. */
  async planLine(line: string, mark: string): Promise<CommandPlan | InvalidCommand> {
    const { sandbox, container, runAs, spec } = this.task;
    if (this.task.mainPid() === undefined) return { invalid: 'The task has no process' };
    const directory = sandbox.executor?.directory ?? sandbox.root;
    const where = { directory, sandboxRoot: sandbox.root, timeoutMillis: 0 };
    const words = ['-c', line];
    if (container) {
      const exec = await container.execWords([`${commandVariable}=${mark}`]);
      const environment = { ...engineEnvironment(), [commandVariable]: mark };
      return { ...where, words: [...exec, plainShell, ...words], environment, runAs: undefined, shell: plainShell };
    }
    const environment = { ...taskEnvironment(spec, sandbox, runAs, this.context), [commandVariable]: mark };
    const shell = shellFor(environment, this.context.shell);
    return { ...where, words: [shell, ...words], environment, runAs, shell };
  }

  /** The engine's program is the agent's, and has nothing of the task in its environment. */
  private async planInContainer(
    container: TaskContainer,
    command: ShellCommandSetting,
    order: ShellCommandOrder,
    who: { pid: number; user: string },
    directory: string,
    record: CommandRecord,
  ): Promise<CommandPlan | InvalidCommand> {
    const { settings } = this.context;
    if (container.mainPid === undefined) return { invalid: 'The task has no process' };
    const mark = { [commandVariable]: record.path };
    const inside = { TASK_SANDBOX_DIR: settings.containers.sandboxPath, ...mark };
    const exec = await container.execWords(Object.entries(inside).map(([name, value]) => `${name}=${value}`));
    return {
      words: commandWords(command, order.options, who, settings, exec),
      environment: { ...engineEnvironment(), ...mark },
      directory,
      sandboxRoot: this.task.sandbox.root,
      runAs: undefined,
      shell: plainShell,
      timeoutMillis: settings.shellCommandTimeoutMillis,
    };
  }

  /** The environment of the task, except by what its own processes are known: a command is none of them. */
  private environment(directory: string, record: CommandRecord): Record<string, string> {
    const { spec, sandbox, runAs } = this.task;
    const { [sandboxVariable]: _ofTask, ...environment } = taskEnvironment(spec, sandbox, runAs, this.context);
    return { ...environment, TASK_SANDBOX_DIR: directory, [commandVariable]: record.path };
  }
}
