import { type Args, type CallContext, HttpErrorException, type Service } from 'rest-contract';
import type {
  KillAnswer,
  SandboxView,
  ShellCommandAnswer,
  ShellCommandOrder,
  TaskCheckAnswer,
} from '../../cluster/cluster-driver.js';
import { isTerminal } from '../../core/model/enums.js';
import { inParallel } from '../../platform/async.js';
import type { LeaderApi, SandboxApi, TaskApi, TrustedApi } from '../wire/agent-api.js';
import type { Epochs } from '../wire/epochs.js';
import { orNotFound, SandboxOperations } from './sandbox-operations.js';
import { SandboxFiles } from '../sandbox/sandbox-files.js';
import { sandboxRoot, startFilesOf } from '../sandbox/sandbox-layout.js';
import { CommandRecord } from '../shell-commands/command-record.js';
import { machineUsage, taskStatistics } from '../machines/usage.js';
import { fileNameOf, TaskDirectory } from '../state/task-directory.js';
import type { TaskRun } from '../tasks/task-run.js';
import type { Machines } from '../machines/machines.js';
import type { Launcher } from '../tasks/launch.js';
import type { UpkeepContext } from '../upkeep/watchdog.js';
import type { UploadContext } from '../uploads/uploader.js';
import type { Tasks } from '../tasks/tasks.js';
import type { Tombstones } from '../state/tombstones.js';

/** The services of an agent by which calls are answered. */
export interface AgentServices {
  context: UpkeepContext & UploadContext;
  tasks: Tasks;
  tombstones: Tombstones;
  epochs: Epochs;
  launcher: Launcher;
  machines: Machines;
}

/** Implementation of the operations of an agent. */
export class AgentOperations implements Service<typeof TrustedApi> {
  constructor(
    private readonly services: AgentServices,
    /** Ends the agent after the answer is out. */
    private readonly shutdownAgent: () => void,
  ) {}

  async leader({ epoch }: Args<typeof TrustedApi, 'leader'>): Promise<Service<typeof LeaderApi>> {
    await this.services.epochs.admit(epoch);
    return new LeaderOperations(this.services, epoch);
  }

  async machines() {
    const { machines } = this.services;
    return { machines: machines.snapshots(Date.now()), machinesVersion: machines.version };
  }

  async usage({ slaveId }: Args<typeof TrustedApi, 'usage'>) {
    const { context, machines, tasks } = this.services;
    if (!machines.has(slaveId)) throw new HttpErrorException(404, 'Not found');
    const agent = await context.removals.metrics(machines.agentId, context.directory.sandboxes);
    return {
      ...(await machineUsage(slaveId, tasks.live(), context.directory, Date.now)),
      agent: { ...agent, uploads: context.uploads.read() },
    };
  }

  task({ taskId }: Args<typeof TrustedApi, 'task'>): Service<typeof TaskApi> {
    // The directory of no task would be the one of all tasks.
    if (taskId === '') throw new HttpErrorException(404, 'Not found');
    const { context, tasks } = this.services;
    const root = sandboxRoot(context.directory, taskId);
    const isAnyOwners = () => TaskDirectory.ownersAreItsOwn(context.directory, taskId);
    return new TaskOperations(tasks.find(taskId), {
      ALL: new SandboxFiles(root, [], undefined, isAnyOwners),
      OF_TASK: new SandboxFiles(root, startFilesOf(taskId), undefined, isAnyOwners),
    });
  }

  async refusedUser({ user }: Args<typeof TrustedApi, 'refusedUser'>) {
    return { refusal: await this.services.context.users.refusal(user) };
  }

  async shutdown({ killTasks, graceMillis }: Args<typeof TrustedApi, 'shutdown'>) {
    if (killTasks) await this.services.tasks.killAll(graceMillis);
    setImmediate(this.shutdownAgent);
  }
}

const maxUpdatesPerAnswer = 500;

/** Each has a few files open while it is decided. */
const launchesAtOnce = 50;

/** Operations for one epoch, which has been admitted. EpochOver is the answer when it ends in the meantime. */
class LeaderOperations implements Service<typeof LeaderApi> {
  constructor(
    private readonly services: AgentServices,
    private readonly epoch: number,
  ) {}

  async hello() {
    const { tasks, machines } = this.services;
    // What an earlier epoch had begun is decided before this one is told anything.
    await tasks.decisions.settled();
    return { agentId: machines.agentId, incarnation: machines.incarnation };
  }

  async tasks() {
    const { tasks, machines } = this.services;
    return { agentId: machines.agentId, incarnation: machines.incarnation, ...(await tasks.list()) };
  }

  launch({ launches }: Args<typeof LeaderApi, 'launch'>) {
    return inParallel(launches, launchesAtOnce, (document) => this.services.launcher.launch(document, this.epoch));
  }

  kill({ taskId, graceMillis }: Args<typeof LeaderApi, 'kill'>) {
    return killTask(this.services, { taskId, graceMillis, epoch: this.epoch });
  }

  async withdraw({ taskIds }: Args<typeof LeaderApi, 'withdraw'>) {
    const answers = await inParallel(taskIds, launchesAtOnce, (taskId) =>
      withdrawLaunch(this.services, taskId, this.epoch),
    );
    return taskIds.filter((_, index) => answers[index]);
  }

  runCommand({ order }: Args<typeof LeaderApi, 'runCommand'>) {
    return runCommand(this.services, order, this.epoch);
  }

  /** Not in turn with launches and kills of the task: a kill does not wait for a check. */
  async check({ check }: Args<typeof LeaderApi, 'check'>): Promise<TaskCheckAnswer> {
    const run = this.services.tasks.find(check.taskId);
    return run?.isRunning ? run.commands.check(check) : { outcome: 'GONE' };
  }

  async updates({ incarnation, after, waitMillis }: Args<typeof LeaderApi, 'updates'>, { signal }: CallContext) {
    const { context, tasks, epochs, machines } = this.services;
    const first = Date.now();
    // Numbers of another incarnation say nothing about ours: the caller learns ours and begins anew.
    if (incarnation !== machines.incarnation)
      return { incarnation: machines.incarnation, updates: [], machinesVersion: machines.version };
    tasks.acknowledge(after).catch((cause: unknown) => context.log.error('Cannot archive ended tasks', cause));
    await context.updates.waitFor(after, waitMillis, signal);
    epochs.require(this.epoch);
    return {
      incarnation,
      updates: context.updates.after(after, maxUpdatesPerAnswer),
      machinesVersion: machines.version,
      clock: { first, last: Date.now() },
    };
  }
}

/** Answers when the kill, or the tombstone of an id never heard of, would survive a restart. `epoch` has been admitted. */
function killTask(
  { tasks, tombstones, epochs }: { tasks: Tasks; tombstones: Tombstones; epochs: Epochs },
  { taskId, graceMillis, epoch }: { taskId: string; graceMillis: number; epoch: number },
): Promise<Exclude<KillAnswer, 'UNKNOWN'>> {
  return tasks.decisions.run(taskId, async () => {
    epochs.require(epoch);
    const run = tasks.find(taskId);
    if (run && !isTerminal(run.state)) {
      await run.requestKill(graceMillis);
      return 'KILLING';
    }
    // A launch that is still on its way must find this and start nothing.
    if (!(await tasks.stateOf(taskId)))
      await tombstones.put(fileNameOf(taskId), { reason: 'KILLED_BEFORE_LAUNCH', at: Date.now() });
    return 'GONE';
  });
}

/** Returns true when nothing of the task is or was here; then its id is forbidden, on disk. `epoch` has been admitted. */
function withdrawLaunch(
  { tasks, tombstones, epochs }: Pick<AgentServices, 'tasks' | 'tombstones' | 'epochs'>,
  taskId: string,
  epoch: number,
): Promise<boolean> {
  return tasks.decisions.run(taskId, async () => {
    epochs.require(epoch);
    if (await tasks.stateOf(taskId)) return false;
    const name = fileNameOf(taskId);
    // One that was refused before keeps its reason.
    if (!(await tombstones.find(name)))
      await tombstones.put(name, {
        reason: 'KILLED_BEFORE_LAUNCH',
        message: 'given up before it came',
        at: Date.now(),
      });
    return true;
  });
}

/** Answers when the command is on disk, from when on it is never begun a second time. `epoch` has been admitted. */
function runCommand(
  { context, tasks, epochs }: Pick<AgentServices, 'context' | 'tasks' | 'epochs'>,
  order: ShellCommandOrder,
  epoch: number,
): Promise<Exclude<ShellCommandAnswer, 'UNKNOWN'>> {
  return tasks.decisions.run(order.taskId, async () => {
    const places = [
      TaskDirectory.live(context.directory, order.taskId),
      TaskDirectory.ended(context.directory, order.taskId),
    ] as const;
    for (const place of places) if (await CommandRecord.of(place, order).exists()) return 'ACCEPTED';
    epochs.require(epoch);
    const run = tasks.find(order.taskId);
    if (!run || isTerminal(run.state)) return 'GONE';
    return (await run.commands.accept(order)) ? 'ACCEPTED' : 'GONE';
  });
}

/** Operations on one task. */
class TaskOperations implements Service<typeof TaskApi> {
  constructor(
    private readonly run: TaskRun | undefined,
    private readonly files: Record<SandboxView, SandboxFiles>,
  ) {}

  async statistics() {
    return orNotFound(this.run?.isRunning ? await taskStatistics(this.run, Date.now()) : undefined);
  }

  sandbox(): Service<typeof SandboxApi> {
    return new SandboxOperations(this.files);
  }
}
