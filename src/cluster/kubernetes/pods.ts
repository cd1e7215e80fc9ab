import { podSandboxPath } from '../../pod-agent/pod-agent-api.js';
import { isTerminal, type TaskState } from '../../core/model/enums.js';
import type { ClusterEvents, ProgramReport, StatusUpdate } from '../cluster-driver.js';
import type { ListFollower } from './follow-list.js';
import { annotations, taskIdOf, tombstoneLabel } from './names.js';
import type { Nodes } from './nodes.js';
import { millisOf, type Pod } from './objects.js';
import { programsOfPod } from './program-statuses.js';
import { hasEnded, type PodStatus, statusesOfPod } from './statuses-of-pod.js';
import { type ToldWait, waitToTell } from './wait-of-pod.js';

interface KnownPod {
  pod: Pod;
  taskId: string;
  /** States that are stored. */
  reported: Set<TaskState>;
  /** By name of a program around the main one: its state that is stored, as a text. */
  programs: Map<string, string>;
  /** Why it does not run yet, as that is stored. */
  wait?: ToldWait;
  /** It is not there any more. */
  isRemoved: boolean;
  /** Since when its end is stored, epoch millis. */
  endStoredAt?: number;
}

/** A state of the task, or of a program of it. */
type ToldStatus = PodStatus & { program?: ProgramReport; wait?: ToldWait };

const textOf = ({ state, starts }: ProgramReport): string => `${state} ${starts}`;
/** The first state is one of a life. */
const isOfLife = ({ state }: PodStatus): boolean => !isTerminal(state);

/** Longer than any call of a leader that is over may be under way. */
const tombstoneMillis = 15 * 60_000;
const leastKeptMillis = 60_000;

/** The pods of our tasks: what of their lives the scheduler has not stored is told until it has. */
export class Pods {
  private readonly pods = new Map<string, KnownPod>();
  /** By name: since when. */
  private readonly tombstones = new Map<string, number>();
  /** They were listed once. */
  isListed = false;
  private dirty = new Set<string>();

  constructor(
    private readonly installation: string,
    private readonly nodes: Nodes,
    private readonly now: () => number,
    /** Resolves when what comes before the ends of these tasks of a node is told. */
    private readonly beforeEnds: (node: string, taskIds: readonly string[]) => Promise<void> = async () => undefined,
  ) {}

  find = (name: string): Pod | undefined => this.pods.get(name)?.pod;

  /** Its end is stored: no update of it will come. */
  isOver = (name: string): boolean => this.pods.get(name)?.endStoredAt !== undefined;

  /** True when a pod that has not ended is bound to the node. */
  isOn = (node: string): boolean =>
    [...this.pods.values()].some(({ pod, isRemoved }) => !isRemoved && pod.spec?.nodeName === node && !hasEnded(pod));

  /** Pods that have not ended, on nodes that answer. */
  live(): Pod[] {
    return [...this.pods.values()].flatMap(({ pod, isRemoved }) =>
      !isRemoved && !hasEnded(pod) && this.nodes.isHeard(pod.spec?.nodeName ?? '') ? [pod] : [],
    );
  }

  /** True for a live pod that outlived its node: the present one is another, and its tasks were given up for good with the former. */
  isStray = ({ metadata, spec }: Pod): boolean =>
    metadata?.deletionTimestamp === undefined &&
    metadata?.annotations?.[annotations.incarnation] !== this.nodes.incarnationOf(spec?.nodeName ?? '');

  /** True for a live pod whose end is stored, and that runs after all, as its kubelet says now: its task may have been replaced. */
  isRevived = ({ metadata }: Pod): boolean =>
    metadata?.deletionTimestamp === undefined && this.isOver(metadata?.name ?? '');

  follower(parts: Pick<ListFollower<unknown>, 'heard' | 'failed'>, changed: () => void): ListFollower<Pod> {
    return {
      ...parts,
      replaced: (items) => {
        const present = new Set(items.map(({ metadata }) => metadata?.name ?? ''));
        for (const [name, known] of this.pods) if (!present.has(name)) this.drop(name, known.pod);
        for (const name of this.tombstones.keys()) if (!present.has(name)) this.tombstones.delete(name);
        for (const pod of items) this.set(pod);
        this.isListed = true;
        changed();
      },
      changed: (pod) => {
        this.set(pod);
        changed();
      },
      removed: (pod) => {
        this.tombstones.delete(pod.metadata?.name ?? '');
        this.drop(pod.metadata?.name ?? '', pod);
        changed();
      },
    };
  }

  /** Tells what is not stored yet, node by node. What could not be stored is told again with the next call. */
  async report(events: ClusterEvents): Promise<void> {
    const names = [...this.dirty];
    this.dirty = new Set();
    const byNode = new Map<string, { known: KnownPod; statuses: ToldStatus[] }[]>();
    for (const name of names) {
      const known = this.pods.get(name);
      const statuses = known ? this.unreported(known) : [];
      if (!known || statuses.length === 0) {
        this.forgetRemoved(name);
        continue;
      }
      const node = known.pod.spec?.nodeName ?? '';
      byNode.set(node, [...(byNode.get(node) ?? []), { known, statuses }]);
    }
    const answers = await Promise.allSettled(
      [...byNode].map(([node, changed]) => this.reportNode(node, changed, events)),
    );
    const failure = answers.find((answer) => answer.status === 'rejected');
    if (failure) throw failure.reason;
  }

  /** Finds pods that have waited long enough for that to be told, or whose node has changed. */
  lookAgain(): void {
    for (const [name, known] of this.pods) if (this.waitOf(known)) this.dirty.add(name);
  }

  get hasChanges(): boolean {
    return this.dirty.size > 0;
  }

  /** Ended ones that have been kept long enough, the oldest first, and tombstones that nothing can come after any more. */
  toRemove({ keepMillis, atMost }: { keepMillis: number; atMost: number }): { ended: Pod[]; tombstones: string[] } {
    const now = this.now();
    const ended = [...this.pods.values()]
      .filter(({ endStoredAt, isRemoved }) => endStoredAt !== undefined && !isRemoved)
      .toSorted((a, b) => a.endStoredAt! - b.endStoredAt!);
    const surplus = Math.max(0, ended.length - atMost);
    const isDue = ({ endStoredAt }: KnownPod, index: number) =>
      now - endStoredAt! >= (index < surplus ? Math.min(leastKeptMillis, keepMillis) : keepMillis);
    const old = [...this.tombstones].filter(([, since]) => now - since >= tombstoneMillis);
    return { ended: ended.filter(isDue).map(({ pod }) => pod), tombstones: old.map(([name]) => name) };
  }

  private set(pod: Pod): void {
    const { name = '', uid, labels, creationTimestamp } = pod.metadata ?? {};
    const taskId = taskIdOf(this.installation, pod.metadata);
    if (taskId === undefined) return;
    if (labels?.[tombstoneLabel] !== undefined) {
      this.tombstones.set(name, millisOf(creationTimestamp) ?? this.now());
      return;
    }
    const known = this.pods.get(name);
    if (known?.pod.metadata?.uid === uid && known) known.pod = pod;
    else this.pods.set(name, { pod, taskId, reported: new Set(), programs: new Map(), isRemoved: false });
    this.dirty.add(name);
  }

  private drop(name: string, last: Pod): void {
    const known = this.pods.get(name);
    if (!known) return;
    known.pod = last;
    known.isRemoved = true;
    this.dirty.add(name);
  }

  private forgetRemoved(name: string): void {
    if (this.pods.get(name)?.isRemoved) this.pods.delete(name);
  }

  /** A silent node may have begun with it meanwhile; and whatever is told of its tasks would be a sign of life. */
  private waitOf({ pod, wait, reported, isRemoved }: KnownPod): ToldWait | undefined {
    const node = pod.spec?.nodeName ?? '';
    if (isRemoved || reported.has('TASK_RUNNING') || !this.nodes.isHeard(node)) return undefined;
    return waitToTell(pod, this.nodes.conditionOf(node), this.now(), wait);
  }

  private unreported(known: KnownPod): ToldStatus[] {
    const { pod, reported, programs, isRemoved, endStoredAt } = known;
    if (endStoredAt !== undefined) return [];
    const all = statusesOfPod(pod);
    const wait = this.waitOf(known);
    const changed = programsOfPod(pod).filter((program) => programs.get(program.name) !== textOf(program));
    const told = all.filter(({ state }) => !reported.has(state));
    const [end] = told.slice(-1).filter(({ state }) => isTerminal(state));
    // Nothing is told of a task after its end.
    const statuses: ToldStatus[] = [
      ...told.filter((status) => status !== end),
      // In that state, with its reason for a message.
      ...(wait ? [{ ...all.find(isOfLife)!, message: wait.text, wait }] : []),
      ...changed.map(({ timestamp, ...program }) => ({ state: all.find(isOfLife)!.state, timestamp, program })),
      ...(end ? [end] : []),
    ];
    // Its end was never seen, and will not be. On a node that is silent it may run on: the scheduler has rules for that.
    if (isRemoved && !hasEnded(pod) && this.nodes.isHeard(pod.spec?.nodeName ?? ''))
      statuses.push({
        state: 'TASK_LOST',
        timestamp: this.now(),
        reason: 'REASON_RECONCILIATION',
        message: 'Its pod was removed from Kubernetes by force',
      });
    return statuses;
  }

  private async reportNode(
    node: string,
    changed: readonly { known: KnownPod; statuses: ToldStatus[] }[],
    events: ClusterEvents,
  ): Promise<void> {
    const updates = changed.flatMap(({ known, statuses }) =>
      statuses.map((status) => this.update(node, known, status)),
    );
    const tellsEnd = (statuses: readonly ToldStatus[]) => statuses.some(({ state }) => isTerminal(state));
    const ended = changed.filter(({ statuses }) => tellsEnd(statuses)).map(({ known }) => known.taskId);
    try {
      if (ended.length > 0) await this.beforeEnds(node, ended);
      await events.statusUpdates(updates);
    } catch (cause) {
      for (const { known } of changed) this.dirty.add(known.pod.metadata!.name!);
      throw cause;
    }
    for (const { known, statuses } of changed) {
      for (const { state, program, wait } of statuses)
        if (program) known.programs.set(program.name, textOf(program));
        else if (wait) known.wait = wait;
        else known.reported.add(state);
      if (tellsEnd(statuses)) known.endStoredAt = this.now();
      // It may have changed while this was told: then there is more to tell.
      const name = known.pod.metadata!.name!;
      if (!this.dirty.has(name)) this.forgetRemoved(name);
    }
  }

  private update(node: string, { pod, taskId }: KnownPod, { wait: _wait, ...status }: ToldStatus): StatusUpdate {
    return {
      agentId: node,
      incarnation: pod.metadata?.annotations?.[annotations.incarnation] ?? '',
      number: 0,
      taskId,
      slaveId: node,
      directory: podSandboxPath,
      ...status,
    };
  }
}
