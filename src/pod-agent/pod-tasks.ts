import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inParallel, KeyedQueue } from '../platform/async.js';
import { errorCode, namesIn } from '../platform/files.js';
import { SharedRead } from '../platform/reads/reads.js';
import { type RemovalResult, removeTree } from '../agent/sandbox/remove-tree.js';
import type { PodToPrepare, PrepareAnswer } from './pod-agent-api.js';
import { type PodContext, PodTask } from './pod-task.js';

const lookedAtOnce = 20;

/** Time after its end in which output may still come that was written before. */
const lateOutputMillis = 5_000;

/** The tasks of one node: those whose pods are about to come, run or have ended, as long as their files are kept. */
export class PodTasks {
  private readonly byId = new Map<string, PodTask>();
  /** Everything about one task that must not happen at the same time. */
  private readonly inTurn = new KeyedQueue();
  /** Those whose pods have gone, and whose ends are not noted yet. */
  private readonly ending = new Set<PodTask>();
  /** One look at a time: an older one would take pods that a newer one has found for removed. */
  private readonly look = new SharedRead(() => this.lookForPods());
  isDiskFull = false;

  private constructor(private readonly context: PodContext) {}

  /** Loads the tasks that an earlier agent left. */
  static async load(context: PodContext): Promise<PodTasks> {
    const tasks = new PodTasks(context);
    const groups = context.cgroups.pods();
    for (const path of await directoriesOf(context.settings.root)) {
      try {
        const task = await PodTask.load(context, path, groups);
        if (task) tasks.byId.set(task.id, task);
        else await removeTree(path);
      } catch (cause) {
        // It may be mounted: it is left for an operator to look at, and keeps no other from being served.
        context.log.error(`${path} cannot be read`, cause);
      }
    }
    for (const task of tasks.all()) await task.commands.failInterrupted();
    for (const task of tasks.live()) task.artifacts.begin(false);
    return tasks;
  }

  all = (): PodTask[] => [...this.byId.values()];

  live = (): PodTask[] => this.all().filter(({ endedAt }) => endedAt === undefined);

  find = (taskId: string): PodTask | undefined => this.byId.get(taskId);

  /** For the watch over the disk. */
  noteDisk(isFull: boolean): void {
    this.isDiskFull = isFull;
  }

  /** `require`: throws when the caller leads no more. */
  prepare(pod: PodToPrepare, require: () => void): Promise<PrepareAnswer> {
    return this.inTurn.run(`task ${pod.taskId}`, () => this.prepareInTurn(pod, require));
  }

  private prepareInTurn(pod: PodToPrepare, require: () => void): Promise<PrepareAnswer> {
    return this.inTurn.run(pod.podName, async () => {
      require();
      const refused = (reason: string): PrepareAnswer => ({ outcome: 'REFUSED', reason });
      const known = this.byId.get(pod.taskId);
      if (!known && this.all().some((other) => other.pod.podName === pod.podName))
        return refused('The pod is that of another task');
      if (known && (known.pod.podName !== pod.podName || known.pod.namespace !== pod.namespace))
        return refused('The task has another pod');
      if (known?.endedAt !== undefined) return refused('Its pod has ended');
      const isAnew = known?.isWithoutArtifacts === true && pod.artifacts !== undefined;
      if (known && !isAnew) return known.prepared;
      if (this.isDiskFull) return { outcome: 'DISK_FULL' };
      const path = join(this.context.settings.root, pod.podName);
      if (known) await this.removeNow(known);
      const task = await PodTask.prepare(this.context, path, pod).catch(async (cause: unknown) => {
        // What is there already is not ours to remove.
        if (errorCode(cause) !== 'EEXIST') await removeTree(path);
        throw cause;
      });
      this.byId.set(task.id, task);
      return task.prepared;
    });
  }

  /** Work on a task, after what goes on with it now. */
  with<T>(task: PodTask, work: () => Promise<T>): Promise<T> {
    return this.inTurn.run(task.pod.podName, work);
  }

  async end(task: PodTask): Promise<void> {
    // One that ran for a moment may not have been seen yet, and what it printed is found by its number.
    if (task.uid === undefined) await this.findPods();
    await this.with(task, () => task.end());
  }

  /** One that cannot be removed stays known, to be tried again. */
  remove(task: PodTask): Promise<RemovalResult | undefined> {
    return this.with(task, () => this.removeNow(task));
  }

  private async removeNow(task: PodTask): Promise<RemovalResult | undefined> {
    await task.rest();
    await task.artifacts.forget();
    const removed = await removeTree(task.path);
    this.byId.delete(task.id);
    return removed;
  }

  /** That it runs may be known to the leader before the next look is due. */
  async lookAt(task: PodTask): Promise<void> {
    if (!task.isRunning && task.endedAt === undefined) await this.findPods();
  }

  /** Finds the pods on this node, and the containers that run in them. */
  findPods = (): Promise<void> => this.look.ask();

  private async lookForPods(): Promise<void> {
    const { settings, cgroups } = this.context;
    const uids = await podsWithLogs(settings.podLogs);
    const groups = this.live().length > 0 ? cgroups.pods() : new Map<string, string>();
    await inParallel(this.live(), lookedAtOnce, async (task) => {
      const { namespace, podName } = task.pod;
      const uid = task.uid ?? uids.get(`${namespace}_${podName}`);
      if (uid === undefined) return;
      if (task.uid === undefined) await task.noteUid(uid);
      task.noteGroups(groups.get(uid));
      // The kubelet has removed it, and the leader has not said so (yet).
      if (!uids.has(`${namespace}_${podName}`) && !groups.has(uid)) this.endBeside(task);
    });
  }

  /** To take all of its output may take long, and others are looked at meanwhile. */
  private endBeside(task: PodTask): void {
    if (this.ending.has(task)) return;
    this.ending.add(task);
    void this.end(task)
      .catch((cause: unknown) => this.context.log.error(`Task ${task.id}: its end`, cause))
      .finally(() => this.ending.delete(task));
  }

  checkThreads(): void {
    for (const task of this.live()) task.checkThreads();
  }

  /** Takes their output since the last call. */
  async takeOutput(): Promise<void> {
    await inParallel(this.all(), lookedAtOnce, (task) =>
      task.takeOutput().catch((cause: unknown) => this.context.log.error(`Task ${task.id}: its output`, cause)),
    );
  }

  /** Puts the logs of ended tasks in order, those that ended first at first. One that cannot be does not keep the others. */
  async finishLogs(): Promise<void> {
    const due = this.all().filter(
      ({ endedAt, areLogsFinished }) =>
        endedAt !== undefined && !areLogsFinished && Date.now() - endedAt >= lateOutputMillis,
    );
    for (const task of due.toSorted((a, b) => a.endedAt! - b.endedAt!)) {
      if (this.context.stopping.aborted) return;
      await this.with(task, () => task.finishLogs()).catch((cause: unknown) =>
        this.context.log.error(`Task ${task.id}: its logs`, cause),
      );
    }
  }

  /** The agent stops. */
  async close(): Promise<void> {
    for (const { commands, logs } of this.all()) {
      commands.detach();
      logs.detach();
    }
    await Promise.all(this.all().map((task) => task.artifacts.stop()));
    await Promise.allSettled(this.all().flatMap(({ commands, logs }) => [commands.settled(), logs.settled()]));
    await Promise.allSettled(this.all().map((task) => task.rest()));
  }
}

/** Directories of pods. Those that begin with a dot are the agent's own. */
const directoriesOf = async (root: string): Promise<string[]> =>
  (await readdir(root)).filter((name) => !name.startsWith('.')).map((name) => join(root, name));

/** The number of each pod that the kubelet keeps output of, by namespace and name. Of several of one name it is the first. */
async function podsWithLogs(directory: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of await namesIn(directory)) {
    const [, pod, uid] = /^([^_]+_[^_]+)_([0-9a-f-]{36})$/.exec(name) ?? [];
    if (pod !== undefined && uid !== undefined && !found.has(pod)) found.set(pod, uid);
  }
  return found;
}
