import type { LaunchAnswer } from '../../cluster/cluster-driver.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { TaskContext } from './task-context.js';
import { messageOf } from '../../platform/files.js';
import type { Machines } from '../machines/machines.js';
import type { RunAs, SavedUser } from '../processes/run-as.js';
import { sandboxRoot } from '../sandbox/sandbox-layout.js';
import { EpochOver, type Epochs } from '../wire/epochs.js';
import { readLaunchSpec, taskIdOf } from '../wire/launch-spec.js';
import { fileNameOf, TaskDirectory } from '../state/task-directory.js';
import { createTaskRun } from './create-task-run.js';
import type { TaskRun } from './task-run.js';
import type { Tasks } from './tasks.js';
import type { Tombstone, Tombstones } from '../state/tombstones.js';

/** Decides about launches: an id that was ever heard of starts nothing, whatever became of it. */
export class Launcher {
  constructor(
    private readonly context: TaskContext,
    private readonly tasks: Tasks,
    private readonly tombstones: Tombstones,
    private readonly epochs: Epochs,
    private readonly machines: Machines,
  ) {}

  /** `epoch` has been admitted. Throws EpochOver when it ends before everything is decided. */
  launch(document: unknown, epoch: number): Promise<LaunchAnswer> {
    const spec = readLaunchSpec(document);
    if ('refused' in spec) return Promise.resolve(refused(taskIdOf(document), spec.refused));
    return this.tasks.decisions.run(spec.taskId, () => this.decideOrSayUnknown(spec, epoch));
  }

  /** Trouble of the agent's own, such as a full disk, decides nothing: the launch is sent again. */
  private async decideOrSayUnknown(spec: LaunchSpec, epoch: number): Promise<LaunchAnswer> {
    try {
      return await this.decide(spec, epoch);
    } catch (cause) {
      if (cause instanceof EpochOver) throw cause;
      this.context.log.error(`Launch of ${spec.taskId} failed`, cause);
      return { taskId: spec.taskId, outcome: 'UNKNOWN', reason: messageOf(cause) };
    }
  }

  private async decide(spec: LaunchSpec, epoch: number): Promise<LaunchAnswer> {
    const { taskId } = spec;
    if (spec.incarnation !== this.machines.incarnation)
      return refused(taskId, `incarnation ${spec.incarnation} has gone, this is ${this.machines.incarnation}`);
    const state = await this.tasks.stateOf(taskId);
    if (state) {
      if (isOther(spec, await this.tasks.launchIdOf(taskId))) return this.idInUse(spec);
      return { taskId, outcome: 'ACCEPTED', state, directory: sandboxRoot(this.context.directory, taskId) };
    }
    const tombstone = await this.tombstones.find(fileNameOf(taskId));
    if (tombstone) return isOther(spec, tombstone.launchId) ? this.idInUse(spec) : answerOf(taskId, tombstone);
    if (!this.machines.has(spec.slaveId))
      return this.forbid(spec, { reason: 'REFUSED', message: `no slave '${spec.slaveId}' here` });
    if (this.machines.isDiskFull) {
      this.epochs.require(epoch);
      return this.forbid(spec, { reason: 'DISK_FULL' });
    }
    const { users, directory, settings } = this.context;
    const user = spec.user ?? (spec.executorData && settings.defaultRunAsUser);
    const runAs = await users.resolve(user, sandboxRoot(directory, taskId));
    if (typeof runAs === 'string') return this.forbid(spec, { reason: 'REFUSED', message: runAs });
    try {
      this.epochs.require(epoch);
      const answer = await this.accept(spec, runAs);
      if (runAs && answer.outcome !== 'ACCEPTED') users.release(runAs);
      return answer;
    } catch (cause) {
      if (runAs) users.release(runAs);
      throw cause;
    }
  }

  private async accept(spec: LaunchSpec, runAs: RunAs | undefined): Promise<LaunchAnswer> {
    const { context } = this;
    const { taskId } = spec;
    const directory = TaskDirectory.live(context.directory, taskId);
    const run = createTaskRun(context, spec, runAs);
    run.expectStart();
    await directory.saveLaunch({
      spec,
      bootId: context.bootId,
      acceptedAt: Date.now(),
      runAs: runAs && savedUser(runAs),
    });
    const port = await this.takePorts(run);
    if (port === undefined) {
      run.launch();
      return { taskId, outcome: 'ACCEPTED', state: run.state, directory: run.sandbox.root };
    }
    const answer = await this.forbid(spec, { reason: 'PORT_IN_USE', port });
    await directory.remove();
    await run.group.remove();
    return answer;
  }

  /** Makes the run known, so that of two launches at the same time only one gets a port. Or answers a port that is taken. */
  private async takePorts(run: TaskRun): Promise<number | undefined> {
    const spokenFor = this.portOfOtherTask(run.spec);
    if (spokenFor !== undefined) return spokenFor;
    this.tasks.add(run);
    try {
      const { verifyAssignedPorts } = this.context.settings;
      const taken = verifyAssignedPorts ? await this.machines.portsInUse.findTaken(run.spec.ports) : undefined;
      if (taken !== undefined) this.tasks.remove(run);
      return taken;
    } catch (cause) {
      this.tasks.remove(run);
      throw cause;
    }
  }

  /** A port may be spoken for although no program listens on it yet. */
  private portOfOtherTask(spec: LaunchSpec): number | undefined {
    if (spec.ports.length === 0) return undefined;
    const spokenFor = new Set(this.tasks.live().flatMap((run) => run.spec.ports));
    return spec.ports.find((port) => spokenFor.has(port));
  }

  private idInUse({ taskId }: LaunchSpec): LaunchAnswer {
    this.context.log.warn(`Task ${taskId} is known from another launch; this launch starts nothing`);
    return { taskId, outcome: 'ID_IN_USE' };
  }

  /** From the moment this resolves the id can never start here. */
  private async forbid({ taskId, launchId }: LaunchSpec, tombstone: Omit<Tombstone, 'at'>): Promise<LaunchAnswer> {
    const complete = { ...tombstone, launchId, at: Date.now() };
    await this.tombstones.put(fileNameOf(taskId), complete);
    return answerOf(taskId, complete);
  }
}

function answerOf(taskId: string, { reason, port, message }: Tombstone): LaunchAnswer {
  if (reason === 'DISK_FULL') return { taskId, outcome: 'DISK_FULL' };
  if (reason === 'PORT_IN_USE' && port !== undefined) return { taskId, outcome: 'PORT_IN_USE', port };
  return refused(taskId, message ?? 'killed before it was launched');
}

/** True when the launch is another one; an unknown one cannot differ. */
const isOther = ({ launchId }: LaunchSpec, known: string | undefined): boolean =>
  launchId !== undefined && known !== undefined && launchId !== known;

const savedUser = ({ prefix: _words, ...user }: RunAs): SavedUser => user;

const refused = (taskId: string, reason: string): LaunchAnswer => ({ taskId, outcome: 'REFUSED', reason });
