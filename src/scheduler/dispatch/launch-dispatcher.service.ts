import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  CLUSTER_DRIVER,
  type ClusterDriver,
  type LaunchAnswer,
  StaleEpochError,
} from '../../cluster/cluster-driver.js';
import { groupBy } from '../../core/group-by.js';
import { slicesWithin } from '../../core/slices.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { storableText } from '../../core/storable-text.js';
import { TaskLaunchRepository } from '../../modules/tasks/task-launch.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { GatheredWarning } from '../../platform/gathered-warning.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { LaunchAnswers } from './launch-answers.service.js';

/** So many launches, and so many characters of them, go in one call; a longer launch goes alone. */
const callBounds = { items: 100, size: 4 * 1024 * 1024 };
/** Pause before an unanswered launch is sent again. */
const repeatAfterMillis = 1_000;

/** Characters of why a launch is not answered. */
const longestReason = 1_000;

/** Thousands of machines are not looked through for each batch. */
const agentsKeptMillis = 1_000;

/** A launch to send. */
export interface ToSend {
  spec: LaunchSpec;
  /** In characters, about. */
  size: number;
}

interface UnansweredLaunch extends ToSend {
  inFlight: boolean;
  /** Why it was not answered, as it is stored. */
  noted?: string;
  /** Epoch milliseconds. */
  nextAttemptAt: number;
}

/**
 * Sends launches that are committed, and sends them again until they are answered. Asking twice is safe: the task id is
 * bound to one machine, which starts it once. An agent that does not answer holds up no other.
 */
@Injectable()
export class LaunchDispatcher {
  private readonly log = new Logger(LaunchDispatcher.name);
  private readonly failed = new GatheredWarning((line) => this.log.warn(line));
  private readonly unanswered = new Map<string, UnansweredLaunch>();
  private readonly calls = new Set<Promise<void>>();
  private agents: ReadonlyMap<string, string> = new Map();
  private agentsAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly db: Database,
    private readonly launches: TaskLaunchRepository,
    private readonly answers: LaunchAnswers,
    private readonly leadership: Leadership,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /** At the beginning of leading: what an earlier leader wrote and perhaps never sent. */
  async load(): Promise<void> {
    this.unanswered.clear();
    for (const spec of await this.launches.unanswered(this.db.pool)) {
      this.add({ spec, size: JSON.stringify(spec).length });
    }
  }

  /** Sends at once, without waiting for the answers. */
  send(launches: readonly ToSend[]): void {
    for (const launch of launches) this.add(launch);
    this.attempt(launches.map(({ spec }) => spec));
  }

  /** Sends again what was not answered in time. */
  async repeat(now: number): Promise<void> {
    const due = [...this.unanswered.values()].filter(
      ({ inFlight, nextAttemptAt }) => !inFlight && nextAttemptAt <= now,
    );
    if (due.length === 0) return;
    const dueIds = due.map(({ spec }) => spec.taskId);
    const wanted = await this.launches.stillUnanswered(this.db.pool, dueIds);
    for (const { spec } of due) if (!wanted.has(spec.taskId)) this.unanswered.delete(spec.taskId);
    this.attempt(due.map(({ spec }) => spec).filter(({ taskId }) => wanted.has(taskId)));
  }

  /** Resolves when no call is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.calls);
  }

  private add({ spec, size }: ToSend): void {
    this.unanswered.set(spec.taskId, { spec, size, inFlight: false, nextAttemptAt: 0 });
  }

  private attempt(specs: readonly LaunchSpec[]): void {
    const agents = this.agentsBySlave();
    for (const ofAgent of groupBy(specs, ({ slaveId }) => agents.get(slaveId) ?? slaveId).values()) {
      for (const some of slicesWithin(ofAgent, callBounds, ({ taskId }) => this.unanswered.get(taskId)?.size ?? 0)) {
        const call = this.call(some);
        this.calls.add(call);
        void call.finally(() => this.calls.delete(call));
      }
    }
  }

  /** Only for putting together what one agent gets: it need not be of this moment. */
  private agentsBySlave(): ReadonlyMap<string, string> {
    const now = performance.now();
    if (now - this.agentsAt > agentsKeptMillis) {
      this.agents = new Map(this.driver.machines().map(({ slaveId, agentId }) => [slaveId, agentId]));
      this.agentsAt = now;
    }
    return this.agents;
  }

  private async noteReasons(answers: readonly LaunchAnswer[]): Promise<void> {
    const changed = answers.flatMap((answer) => {
      if (answer.outcome !== 'UNKNOWN') return [];
      const reason = storableText(answer.reason, longestReason);
      const entry = this.unanswered.get(answer.taskId);
      return entry && entry.noted !== reason ? [{ taskId: answer.taskId, entry, reason }] : [];
    });
    if (changed.length === 0) return;
    await this.db.leaderTransaction((tx) => this.launches.notAnswered(tx, changed));
    for (const { entry, reason } of changed) entry.noted = reason;
  }

  private async call(specs: readonly LaunchSpec[]): Promise<void> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    const entries = specs.flatMap(({ taskId }) => this.unanswered.get(taskId) ?? []);
    for (const entry of entries) entry.inFlight = true;
    try {
      const answers = await this.driver.launch(specs, epoch);
      await this.answers.record(answers, new Map(specs.map((spec) => [spec.taskId, spec])));
      for (const { taskId, outcome } of answers) if (outcome !== 'UNKNOWN') this.unanswered.delete(taskId);
      await this.noteReasons(answers);
    } catch (cause) {
      if (cause instanceof StaleEpochError) this.leadership.outranked(cause);
      else this.failed.note(`${specs.length} launches are sent again: ${String(cause)}`);
    }
    for (const entry of entries) {
      entry.inFlight = false;
      entry.nextAttemptAt = this.clock.now() + repeatAfterMillis;
    }
  }
}
