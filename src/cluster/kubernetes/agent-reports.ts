import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../platform/log.js';
import { messageOf } from '../../platform/files.js';
import { unlessAborted, withSignal } from '../../platform/async.js';
import { backOffMillis } from '../../core/back-off.js';
import { type ClusterEvents, type Epoch, StaleEpochError, type StatusUpdate } from '../cluster-driver.js';
import { agentCallMillis, type NodeAgent, type NodeAgents } from './node-agents.js';
import { type ExceededLimit, overDisk, overThreads } from './pod-calls.js';

const pollMillis = 20_000;
const firstRetryMillis = 100;
const lastRetryMillis = 5_000;

/** Ended tasks of one node that its agent was not told of: beyond it, it finds out by itself. */
const mostOwed = 5_000;

/** So long the end of a task waits for what its agent has to say before it. */
const settleMillis = 4_000;

export interface AgentReportsParts {
  agents: NodeAgents;
  epoch: Epoch;
  events: ClusterEvents;
  /** A task takes more than it may: its pod is to end. */
  overLimit(podName: string, limit: ExceededLimit): Promise<void>;
  /** Something about the node has changed. */
  changed(node: string): void;
  failed(cause: StaleEpochError): void;
  log: Log;
}

/**
 * Reports of the agents of all nodes while this instance leads: results of commands, and tasks that take too much of
 * the disk.
 */
export class AgentReports {
  private readonly followed = new Map<string, FollowedAgent>();
  private readonly owed = new OwedTasks();

  constructor(
    private readonly parts: AgentReportsParts,
    private readonly signal: AbortSignal,
  ) {}

  /** Begins with agents that are new. Those that are gone end by themselves. */
  follow(): void {
    for (const node of this.parts.agents.nodes())
      if (!this.followed.has(node) && !this.signal.aborted) {
        const one = new FollowedAgent(node, this.owed, this.parts, this.signal);
        this.followed.set(node, one);
        void one.ended.then(() => this.followed.delete(node));
      }
  }

  /** Forgets what agents of these nodes were to be told. */
  forget(isGone: (node: string) => boolean): void {
    this.owed.forget(isGone);
  }

  isDiskFull = (node: string): boolean => this.followed.get(node)?.isDiskFull ?? false;

  /** Resolves when all is told that comes before the ends of these tasks, or when the agent of the node does not say so in time. */
  async settle(node: string, taskIds: readonly string[]): Promise<void> {
    this.owed.add(node, taskIds);
    await this.followed.get(node)?.settle();
  }

  async stopped(): Promise<void> {
    await Promise.all([...this.followed.values()].map(({ ended }) => ended));
  }
}

/** Tasks that have ended, of which the agents of their nodes were not told yet. */
class OwedTasks {
  private readonly byNode = new Map<string, Set<string>>();

  add(node: string, taskIds: readonly string[]): void {
    const owed = this.byNode.get(node) ?? new Set();
    for (const taskId of taskIds) owed.add(taskId);
    for (const taskId of owed) if (owed.size > mostOwed) owed.delete(taskId);
    this.byNode.set(node, owed);
  }

  to = (node: string): string[] => [...(this.byNode.get(node) ?? [])];

  told(node: string, taskIds: readonly string[]): void {
    const owed = this.byNode.get(node);
    for (const taskId of taskIds) owed?.delete(taskId);
    if (owed?.size === 0) this.byNode.delete(node);
  }

  forget(isGone: (node: string) => boolean): void {
    for (const node of this.byNode.keys()) if (isGone(node)) this.byNode.delete(node);
  }
}

class FollowedAgent {
  readonly ended: Promise<void>;
  isDiskFull = false;
  /** It answers. */
  private isHeard = false;
  /** Number of the newest update up to which all of its updates are stored. */
  private stored = 0;
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly node: string,
    private readonly owed: OwedTasks,
    private readonly parts: AgentReportsParts,
    private readonly signal: AbortSignal,
  ) {
    this.ended = this.follow();
  }

  async settle(): Promise<void> {
    if (!this.isHeard) return;
    const upTo = await this.reportEnded().catch((cause: unknown) => {
      if (cause instanceof StaleEpochError) throw cause;
      this.isHeard = false;
      return 0;
    });
    await withSignal([this.signal, AbortSignal.timeout(settleMillis)], async (patience) => {
      while (this.stored < upTo && !patience.aborted) {
        const more = new Promise<void>((resolve) => this.waiting.add(resolve));
        await unlessAborted(more, patience).catch(() => undefined);
      }
    });
  }

  /** Answers the number of the last update about them. */
  private async reportEnded(): Promise<number> {
    const agent = this.parts.agents.of(this.node);
    const taskIds = this.owed.to(this.node);
    if (!agent || taskIds.length === 0) return 0;
    const patience = { signal: this.signal, timeoutMs: settleMillis };
    const { upTo } = await agent.askAsLeader(this.parts.epoch, (api) => api.ended({ taskIds }, patience));
    this.owed.told(this.node, taskIds);
    return upTo;
  }

  private async follow(): Promise<void> {
    const { agents, log, failed } = this.parts;
    let failures = 0;
    for (let agent = agents.of(this.node); agent && !this.signal.aborted; agent = agents.of(this.node)) {
      try {
        await this.followOnce(agent, () => (failures = 0));
      } catch (cause) {
        this.isHeard = false;
        if (this.signal.aborted) return;
        if (cause instanceof StaleEpochError) return failed(cause);
        failures += 1;
        // One that begins, or whose node is away, is no news.
        if (failures === 3) log.warn(`The agent of node '${this.node}' does not answer: ${messageOf(cause)}`);
        const pause = backOffMillis(failures, firstRetryMillis, lastRetryMillis);
        await delay(pause, undefined, { signal: this.signal }).catch(() => undefined);
      }
    }
  }

  private async followOnce(agent: NodeAgent, heard: () => void): Promise<void> {
    const { epoch, agents } = this.parts;
    const { incarnation } = await agent.askAsLeader(epoch, (api) => api.hello({}, { signal: this.signal }));
    this.stored = 0;
    this.isHeard = true;
    await this.reportEnded();
    heard();
    // How it is now is asked for first.
    for (let waitMillis = 0; !this.signal.aborted && agents.of(this.node) === agent; waitMillis = pollMillis) {
      const question = { incarnation, after: this.stored, waitMillis };
      const patience = { signal: this.signal, timeoutMs: pollMillis + agentCallMillis };
      const answer = await agent.askAsLeader(epoch, (api) => api.updates(question, patience));
      if (answer.incarnation !== incarnation) return;
      this.isHeard = true;
      await this.report(answer.updates);
      if (answer.isDiskFull !== this.isDiskFull) {
        this.isDiskFull = answer.isDiskFull;
        this.parts.changed(this.node);
      }
      for (const { podName, diskMb } of answer.overDisk) await this.parts.overLimit(podName, overDisk(diskMb));
      for (const { podName, ...threads } of answer.overThreads ?? [])
        await this.parts.overLimit(podName, overThreads(threads));
    }
  }

  /** The next question is the acknowledgement, and only when they are stored may it be asked. */
  private async report(updates: readonly StatusUpdate[]): Promise<void> {
    if (updates.length === 0) return;
    // Not numbered among those of the node: what a command has said before is known by itself.
    const { events } = this.parts;
    await events.statusUpdates(updates.map((update) => ({ ...update, number: 0 })));
    this.stored = updates.at(-1)!.number;
    for (const tell of this.waiting) tell();
    this.waiting.clear();
  }
}
