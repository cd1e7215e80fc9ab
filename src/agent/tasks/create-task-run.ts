import type { LaunchSpec } from '../../core/model/launch.js';
import type { TaskGroup } from '../cgroups/cgroups.js';
import { ContainerKiller } from '../containers/container-killer.js';
import { containerOf } from '../containers/start-container.js';
import type { TaskContainer } from '../containers/task-container.js';
import { TaskLogs } from '../logs/task-logs.js';
import type { ProcessStat } from '../processes/process-identity.js';
import type { RunAs } from '../processes/run-as.js';
import { sandboxOfSpec } from '../sandbox/sandbox-layout.js';
import { CommandPlans } from '../shell-commands/command-plan.js';
import { TaskCommands } from '../shell-commands/task-commands.js';
import { fileNameOf, type SavedKill, TaskDirectory } from '../state/task-directory.js';
import { preStopOf } from './pre-stop.js';
import { TaskPrograms } from './programs.js';
import { RunningReport } from './running-report.js';
import { StatusReports } from './status-reports.js';
import type { TaskContext } from './task-context.js';
import { Killer, type Sweeper, TaskKill } from './task-kill.js';
import { TaskLimitWatch } from './task-limits.js';
import { TaskProcesses } from './task-processes.js';
import { TaskRun, unlessStopping } from './task-run.js';

/** Makes the parts of a run, each of those that were made before it. `runAs` undefined: the agent's own user. */
export function createTaskRun(context: TaskContext, spec: LaunchSpec, runAs: RunAs | undefined): TaskRun {
  const directory = TaskDirectory.live(context.directory, spec.taskId);
  const sandbox = sandboxOfSpec(context.directory, spec);
  const reports = new StatusReports(context, spec, sandbox.root);
  const container = containerOf(context, spec, sandbox, directory);
  const group = container?.group ?? context.cgroups.group(fileNameOf(spec.taskId));
  const processes = new TaskProcesses(sandbox.root, group, (found) => !programs?.isShim(found));
  const kill = new TaskKill(
    { directory, processes, reports },
    sweeperOf(spec, processes, directory, group, container, () => programs),
    preStopOf(context, spec, {
      isRunning: () => processes.isRunning,
      runLine: (line, limits, signal) => commands.runLine(line, limits, signal),
    }),
  );
  const programs: TaskPrograms | undefined =
    spec.programs &&
    new TaskPrograms(
      context,
      { spec, directory, sandbox, group, runAs, reports, preparing: processes.preparing.signal, kill },
      spec.programs,
    );
  const plans = new CommandPlans(context, { spec, sandbox, runAs, container, mainPid: () => processes.runningPid });
  const commands = new TaskCommands(context, {
    taskId: spec.taskId,
    directory: directory,
    plan: (order, record) => plans.plan(order, record),
    planLine: (line, mark) => plans.planLine(line, mark),
    report: (report) => reports.sendCommand(report),
  });
  const logs = new TaskLogs(context, { spec, sandbox, runAs, processes: () => processes.list() });
  const beside = (work: Promise<void>) => void unlessStopping(context, spec.taskId, work);
  const running = new RunningReport(context, {
    spec,
    sandbox,
    reports,
    container,
    kill,
    over: processes.over.signal,
    endNow: (because: SavedKill['because']) => kill.request(0, because),
    readExit: () => directory.readExit(),
    beside,
  });
  const limits = new TaskLimitWatch(context, {
    spec,
    group,
    commands,
    kill,
    isRunning: () => processes.isRunning,
    processes: () => processes.list(),
    mainPid: () => (container ? container.mainPid : processes.started?.main.pid),
    requestKill: (because) => kill.request(spec.killGraceMillis, because),
    beside,
  });
  return new TaskRun(context, {
    spec,
    runAs,
    directory,
    sandbox,
    reports,
    container,
    group,
    processes,
    kill,
    programs,
    commands,
    logs,
    running,
    limits,
  });
}

/** The main program ends before the others: its end spares them. */
const sweeperOf = (
  { killSignal = 'SIGTERM' }: LaunchSpec,
  processes: TaskProcesses,
  directory: TaskDirectory,
  group: TaskGroup,
  container: TaskContainer | undefined,
  programs: () => TaskPrograms | undefined,
): Sweeper => {
  if (container) return new ContainerKiller(container, () => processes.listUngrouped(), directory);
  const mark = () => {
    const whole = processes.mark();
    const around = programs();
    return around ? { ...whole, includes: (found: ProcessStat) => !around.owns(found) } : whole;
  };
  const killAll = () => {
    if (!programs()?.isAnyRunning) group.killAll();
  };
  return new Killer({ mark, main: () => processes.started?.main, group: { killAll }, signal: killSignal }, directory);
};
