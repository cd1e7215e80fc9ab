import { stat } from 'node:fs/promises';
import { type Args, type CallContext, type Service } from 'rest-contract';
import { taskStatistics, machineUsage } from '../agent/machines/usage.js';
import type { Removals } from '../agent/upkeep/removals.js';
import { CommandRecord } from '../agent/shell-commands/command-record.js';
import type { TaskCheckAnswer } from '../cluster/cluster-driver.js';
import type { TaskApi } from '../agent/wire/agent-api.js';
import type { Epochs } from '../agent/wire/epochs.js';
import { orNotFound, SandboxOperations } from '../agent/server/sandbox-operations.js';
import { guard } from '../agent/server/server.js';
import type { PodAgentApi, PodLeaderApi, PodTrustedApi } from './pod-agent-api.js';
import type { PodContext } from './pod-task.js';
import type { PodTasks } from './pod-tasks.js';

export interface PodAgentParts {
  context: PodContext;
  tasks: PodTasks;
  epochs: Epochs;
  removals: Removals;
  incarnation: string;
}

/** A caller that knows one of the secrets gets to the operations. */
export class GuardedPodAgent implements Service<typeof PodAgentApi> {
  private readonly check: (authorization: string) => void;
  private readonly operations: PodOperations;

  constructor(secrets: readonly string[], parts: PodAgentParts) {
    this.check = guard(...secrets);
    this.operations = new PodOperations(parts);
  }

  trusted({ authorization }: Args<typeof PodAgentApi, 'trusted'>): Service<typeof PodTrustedApi> {
    this.check(authorization);
    return this.operations;
  }
}

/** Implementation of the operations of a node's agent. */
class PodOperations implements Service<typeof PodTrustedApi> {
  constructor(private readonly parts: PodAgentParts) {}

  async leader({ epoch }: Args<typeof PodTrustedApi, 'leader'>): Promise<Service<typeof PodLeaderApi>> {
    await this.parts.epochs.admit(epoch);
    return new PodLeaderOperations(this.parts, epoch);
  }

  async usage() {
    const { context, tasks, removals } = this.parts;
    const { node, settings } = context;
    return {
      ...(await machineUsage(node, tasks.live(), settings, Date.now)),
      agent: { ...(await removals.metrics(node, settings.root)), uploads: context.logs.uploads.read() },
    };
  }

  task({ taskId }: Args<typeof PodTrustedApi, 'task'>): Service<typeof TaskApi> {
    const task = orNotFound(this.parts.tasks.find(taskId));
    const files = task.files();
    return {
      statistics: async () => {
        await this.parts.tasks.lookAt(task);
        return orNotFound(task.isRunning ? await taskStatistics(task, Date.now()) : undefined);
      },
      sandbox: () => new SandboxOperations({ ALL: files, OF_TASK: files }),
    };
  }

  async health() {
    await stat(this.parts.context.settings.root);
  }
}

const maxUpdatesPerAnswer = 500;

/** Operations for one epoch, which has been admitted. EpochOver is the answer when it ends in the meantime. */
class PodLeaderOperations implements Service<typeof PodLeaderApi> {
  constructor(
    private readonly parts: PodAgentParts,
    private readonly epoch: number,
  ) {}

  async hello() {
    return { agentId: this.parts.context.node, incarnation: this.parts.incarnation };
  }

  prepare({ pod }: Args<typeof PodLeaderApi, 'prepare'>) {
    return this.parts.tasks.prepare(pod, () => this.require());
  }

  async runCommand({ order, settings }: Args<typeof PodLeaderApi, 'runCommand'>): Promise<'ACCEPTED' | 'GONE'> {
    const { tasks } = this.parts;
    const task = tasks.find(order.taskId);
    if (!task) return 'GONE';
    await tasks.lookAt(task);
    return tasks.with(task, async () => {
      if (await CommandRecord.of(task, order).exists()) return 'ACCEPTED';
      this.require();
      if (task.endedAt !== undefined) return 'GONE';
      return (await task.run(order, settings)) ? 'ACCEPTED' : 'GONE';
    });
  }

  /** Not in turn with the end of the task, which does not wait for a check. */
  async check({ check }: Args<typeof PodLeaderApi, 'check'>): Promise<TaskCheckAnswer> {
    const { tasks } = this.parts;
    const task = tasks.find(check.taskId);
    if (task) await tasks.lookAt(task);
    return task?.isRunning ? task.commands.check(check) : { outcome: 'GONE' };
  }

  async ended({ taskIds }: Args<typeof PodLeaderApi, 'ended'>) {
    const { context, tasks } = this.parts;
    await Promise.all(
      taskIds.map(async (taskId) => {
        const task = tasks.find(taskId);
        if (task) await tasks.end(task);
      }),
    );
    // What is acknowledged is heard of no more, also by a leader that is new.
    const { updates } = context;
    const unreported = updates.after(updates.acknowledged, Infinity).filter(({ taskId }) => taskIds.includes(taskId));
    return { upTo: unreported.at(-1)?.number ?? 0 };
  }

  async updates({ incarnation, after, waitMillis }: Args<typeof PodLeaderApi, 'updates'>, { signal }: CallContext) {
    const { context, tasks } = this.parts;
    const { updates } = context;
    const isOurs = incarnation === this.parts.incarnation;
    if (isOurs) {
      await updates.acknowledge(after);
      await updates.waitFor(after, waitMillis, signal);
      this.require();
    }
    const overDisk = tasks.live().filter(({ isOverDisk }) => isOverDisk);
    const overThreads = tasks
      .live()
      .flatMap(({ spec, pod, overThreads: over }) =>
        over ? [{ taskId: spec.taskId, podName: pod.podName, ...over }] : [],
      );
    return {
      incarnation: this.parts.incarnation,
      updates: isOurs ? updates.after(after, maxUpdatesPerAnswer) : [],
      overDisk: overDisk.map(({ spec, pod }) => ({ taskId: spec.taskId, podName: pod.podName, diskMb: spec.diskMb })),
      overThreads,
      isDiskFull: tasks.isDiskFull,
    };
  }

  private require(): void {
    this.parts.epochs.require(this.epoch);
  }
}
