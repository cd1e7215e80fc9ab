import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../platform/log.js';
import { messageOf } from '../../platform/files.js';
import { backOffMillis } from '../../core/back-off.js';
import { inParallel } from '../../platform/async.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { type ClusterEvents, type Epoch, StaleEpochError } from '../cluster-driver.js';
import { AgentReports } from './agent-reports.js';
import { followList, type ListFollower } from './follow-list.js';
import type { KubernetesApi } from './kubernetes-api.js';
import type { LeaderLease } from './leader-lease.js';
import { installationLabel } from './names.js';
import type { NodeAgents } from './node-agents.js';
import { Nodes } from './nodes.js';
import type { Pod } from './objects.js';
import type { ExceededLimit, PodCalls } from './pod-calls.js';
import { Pods } from './pods.js';
import { isKeptOpen } from './statuses-of-pod.js';
import { whyGivenUp } from './wait-of-pod.js';

/**
 * Interval between checks that the API server answers and no other instance leads: lists may have nothing to report for
 * long.
 */
const listenEveryMillis = 4_000;
const sweepEveryMillis = 5_000;

/** Changes that follow within this time are reported together: each report takes a check of the lease. */
const gatherMillis = 50;
const firstRetryMillis = 50;
const lastRetryMillis = 5_000;

interface WatchParts {
  api: KubernetesApi;
  lease: LeaderLease;
  calls: PodCalls;
  /** undefined: nodes have none. */
  agents: NodeAgents | undefined;
  epoch: Epoch;
  events: ClusterEvents;
  settings: KubernetesSettings;
  defaultRackId: string;
  now: () => number;
  log: Log;
}

/** One term of a leader: follows nodes and pods, and tells the scheduler, until it is stopped or another leads. */
export class KubernetesWatch {
  readonly nodes: Nodes;
  readonly pods: Pods;
  /** Set when another leads. */
  staleEpoch: StaleEpochError | undefined;
  private readonly agentReports: AgentReports | undefined;
  /** By the monotonic clock. */
  private answeredAt = performance.now();
  private readonly stopping = new AbortController();
  private readonly ended: Promise<void>;
  private readonly complaints = new Set<string>();
  private wake: () => void = () => undefined;
  private isNotified = false;

  constructor(
    private readonly parts: WatchParts,
    /** The first machines are told. */
    private readonly onFirstMachines: () => void,
    /** Resolves when a former one tells nothing any more. */
    former: Promise<void>,
  ) {
    const { settings, defaultRackId, now } = parts;
    const hasTasks = (node: string) => this.pods.isOn(node);
    const { agents } = parts;
    this.agentReports = agents && this.reportsOf(agents);
    const agentOn = (node: string) =>
      agents && { isReady: agents.isReady(node), isDiskFull: this.agentReports!.isDiskFull(node) };
    const silentForMillis = () => performance.now() - this.answeredAt;
    this.nodes = new Nodes({ ...settings, defaultRackId }, silentForMillis, hasTasks, agentOn);
    this.pods = new Pods(settings.installation, this.nodes, now, async (node, taskIds) =>
      this.agentReports?.settle(node, taskIds),
    );
    this.ended = former.then(() => this.run());
  }

  /** Resolves when it tells nothing any more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.ended;
  }

  /** The task has none, and never will: what its agent may have prepared is not needed. */
  noPod({ taskId, slaveId }: { taskId: string; slaveId: string }): void {
    this.agentReports?.settle(slaveId, [taskId]).catch((cause: unknown) => this.failed(cause));
  }

  /** It has ended by itself. */
  whenEnded = (): Promise<void> => this.ended;

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    await this.untilDone(() => this.parts.lease.take(this.parts.epoch, signal));
    if (signal.aborted) return;
    this.heard();
    const { api, calls } = this.parts;
    const ours = this.parts.settings.installation;
    const foreign = {
      path: '/api/v1/pods',
      query: { labelSelector: `${installationLabel}!=${ours}`, fieldSelector: 'spec.nodeName!=' },
    };
    const notify = () => this.notify();
    await Promise.all([
      followList(api, { path: '/api/v1/nodes', query: {} }, this.nodes.follower(this.hearing('nodes'), notify), signal),
      followList(api, foreign, this.foreignFollower(notify), signal),
      followList(
        api,
        { path: calls.collection, query: { labelSelector: calls.selector } },
        this.pods.follower(this.hearing('pods'), notify),
        signal,
      ),
      this.reportChanges(),
      this.every(listenEveryMillis, () => this.check()),
      this.every(sweepEveryMillis, () => this.sweep()),
    ]);
    await this.agentReports?.stopped();
    this.parts.agents?.unfollow();
  }

  /** The agents of the nodes are among them. */
  private foreignFollower(notify: () => void): ListFollower<Pod> {
    const follower = this.nodes.foreignFollower(this.hearing('pods of others'), notify);
    const { agents } = this.parts;
    if (!agents) return follower;
    return {
      ...follower,
      replaced: (pods) => {
        agents.replaced(pods);
        follower.replaced(pods);
      },
      changed: (pod) => {
        agents.changed(pod);
        follower.changed(pod);
      },
      removed: (pod) => {
        agents.removed(pod);
        follower.removed(pod);
      },
    };
  }

  private reportsOf(agents: NodeAgents): AgentReports {
    const { epoch, events, calls, log } = this.parts;
    const overLimit = async (podName: string, limit: ExceededLimit) => {
      await this.check();
      log.warn(`Pod '${podName}' is deleted: it uses more than it may (${limit.annotation}: ${limit.value})`);
      await calls.overLimit(podName, limit);
    };
    const changed = (node: string) => {
      this.nodes.touch(node);
      this.notify();
    };
    const failed = (cause: StaleEpochError) => this.failed(cause);
    return new AgentReports({ agents, epoch, events, overLimit, changed, failed, log }, this.stopping.signal);
  }

  /** One at a time, and what came meanwhile after it. */
  private async reportChanges(): Promise<void> {
    const { signal } = this.stopping;
    const { events } = this.parts;
    while (!signal.aborted) {
      if (!this.isNotified) await new Promise<void>((resolve) => (this.wake = resolve));
      this.isNotified = false;
      await this.untilDone(async () => {
        if (signal.aborted || !this.pods.isListed) return;
        this.agentReports?.follow();
        await this.nodes.report(events);
        if (!this.nodes.isListed) return;
        this.forgetGone();
        if (this.nodes.hasMachines) this.onFirstMachines();
        if (!this.pods.hasChanges) return;
        // What a leader is told whose time is over would be told its successor, too.
        await this.check();
        await this.pods.report(events);
      });
      await delay(gatherMillis, undefined, { signal }).catch(() => undefined);
    }
  }

  /** What a node had goes with it. One that is silent or whose agent is replaced is there still. */
  private forgetGone(): void {
    const { agents } = this.parts;
    const isGone = (node: string) => this.nodes.incarnationOf(node) === undefined && !agents?.hasPod(node);
    agents?.forget(isGone);
    this.agentReports?.forget(isGone);
  }

  private async check(): Promise<void> {
    await this.parts.lease.check(this.parts.epoch);
    this.heard();
  }

  private async sweep(): Promise<void> {
    this.pods.lookAgain();
    if (this.pods.hasChanges) this.notify();
    const { settings, calls, now, log } = this.parts;
    const { ended, tombstones } = this.pods.toRemove({
      keepMillis: settings.keepEndedPodsSeconds * 1_000,
      atMost: settings.maxEndedPods,
    });
    const live = this.pods.live();
    const givenUp = live
      .map((pod) => {
        const node = this.nodes.conditionOf(pod.spec?.nodeName ?? '');
        return { pod, why: whyGivenUp(pod, now(), settings.startSeconds * 1_000, node) };
      })
      .filter(({ why }) => why !== undefined);
    const strays = live.filter((pod) => this.pods.isStray(pod));
    const keptOpen = live.filter(isKeptOpen);
    const revived = live.filter((pod) => this.pods.isRevived(pod));
    const found = [ended, tombstones, givenUp, strays, keptOpen, revived];
    if (found.every(({ length }) => length === 0)) return;
    await this.check();
    for (const pod of strays) log.warn(`Pod '${pod.metadata?.name}' is deleted: its node was replaced`);
    for (const pod of revived) log.warn(`Pod '${pod.metadata?.name}' is deleted: its task has ended, and it runs`);
    for (const { pod, why } of givenUp) log.warn(`Pod '${pod.metadata?.name}' is given up: ${why}`);
    const jobs = [
      ...givenUp.map(
        ({ pod, why }) =>
          () =>
            calls.giveUp(pod, why!),
      ),
      ...[...strays, ...revived].map((pod) => () => calls.end(pod)),
      ...keptOpen.map((pod) => () => calls.endRest(pod)),
      ...ended.map((pod) => () => calls.remove(pod)),
      ...tombstones.map((name) => () => calls.removeTombstone(name)),
    ];
    await inParallel(jobs, settings.callsAtOnce, (job) => job());
  }

  private async every(millis: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await delay(millis, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await work().catch((cause: unknown) => this.failed(cause));
    }
  }

  private async untilDone(work: () => Promise<void>): Promise<void> {
    const { signal } = this.stopping;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await work();
      } catch (cause) {
        this.failed(cause);
        const pause = backOffMillis(failures, firstRetryMillis, lastRetryMillis);
        await delay(pause, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  private failed(cause: unknown): void {
    if (this.stopping.signal.aborted) return;
    if (!(cause instanceof StaleEpochError)) return this.complain('Kubernetes', messageOf(cause));
    this.staleEpoch = cause;
    this.parts.log.warn(`${cause.message}; nothing more is taken from Kubernetes`);
    this.stopping.abort();
    this.wake();
    this.parts.events.outranked(cause);
  }

  private hearing(what: string): Pick<ListFollower<unknown>, 'heard' | 'failed'> {
    return { heard: () => this.heard(), failed: (message) => this.complain(what, message) };
  }

  private heard(): void {
    this.answeredAt = performance.now();
    if (this.complaints.size === 0) return;
    this.complaints.clear();
    this.parts.log.info('Kubernetes answers again');
  }

  /** Once for each thing, until there is an answer again. */
  private complain(what: string, message: string): void {
    if (this.complaints.has(what)) return;
    this.complaints.add(what);
    this.parts.log.warn(`Cannot follow ${what}: ${message}; retrying until it works`);
  }

  private notify(): void {
    this.isNotified = true;
    this.wake();
  }
}
