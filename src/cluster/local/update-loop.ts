import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../platform/log.js';
import { messageOf } from '../../platform/files.js';
import { backOffMillis } from '../../core/back-off.js';
import { ClockDifference } from '../../platform/clock-difference.js';
import { withSignal } from '../../platform/async.js';
import { type ClusterDriver, type ClusterEvents, type MachineSnapshot, StaleEpochError } from '../cluster-driver.js';
import { type AgentConnection, callMillis } from './agent-connection.js';

const pollMillis = 20_000;
const listenEveryMillis = 4_000;
const firstRetryMillis = 50;
const lastRetryMillis = 1_000;

type AppliedUpdate = Parameters<ClusterDriver['start']>[2];

interface UpdateLoopOptions {
  epoch: number;
  events: ClusterEvents;
  appliedUpdate: AppliedUpdate;
  /** Epoch millis, by the scheduler's clock. */
  now: () => number;
}

/** State of the agent as the loop learns it. */
export interface AgentState {
  /** All that the agent presents, as it said last. Another list takes its place in one step: a part of a list would tell of losses. */
  machines: readonly Omit<MachineSnapshot, 'silentForMillis'>[];
  /** Time of the agent's last answer, by the monotonic clock. */
  answeredAt?: number;
  /** Set when the agent has seen a higher epoch: this process leads no more. */
  staleEpoch?: StaleEpochError;
}

/**
 * Follows one agent: says hello, tells its machines, then pulls its status updates for as long as `signal` allows.
 * An agent that does not answer is waited for, however long that takes: its tasks run on.
 */
export async function followAgent(
  agent: AgentConnection,
  { epoch, events, appliedUpdate, now }: UpdateLoopOptions,
  seen: AgentState,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  let failuresInRow = 0;
  let isDown = false;
  /** The clock of the agent's machine, of that of the scheduler: what it tells is put into the time of all other records. */
  const ahead = new ClockDifference(0);
  const over = new AbortController();
  const listening = withSignal([signal, over.signal], listen);
  await follow();
  over.abort();
  await listening;

  /** Checks that the agent is still there: the updates may have nothing to report for long. */
  async function listen(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      await delay(listenEveryMillis, undefined, { signal: ending }).catch(() => undefined);
      if (ending.aborted || seen.answeredAt === undefined) continue;
      if (await agent.answers(listenEveryMillis, ending)) seen.answeredAt = performance.now();
    }
  }

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      try {
        await followOnce();
      } catch (cause) {
        if (signal.aborted) return;
        if (cause instanceof StaleEpochError) {
          seen.staleEpoch = cause;
          log.warn(`${cause.message}; no more updates are taken from the agent`);
          events.outranked(cause);
          return;
        }
        if (!isDown) log.warn(`Cannot follow the agent: ${messageOf(cause)}; retrying until it works`);
        isDown = true;
        failuresInRow += 1;
        const pause = backOffMillis(failuresInRow, firstRetryMillis, lastRetryMillis);
        await delay(pause, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Until something fails or another incarnation answers. */
  async function followOnce(): Promise<void> {
    const hello = await agent.askAsLeader(epoch, (api) => api.hello({}, { signal }));
    seen.answeredAt = performance.now();
    let machinesVersion = await reportMachines(hello.agentId);
    if (isDown) log.info(`Following agent '${hello.agentId}' again`);
    isDown = false;
    const applied = await appliedUpdate(hello.agentId);
    let after = applied?.incarnation === hello.incarnation ? applied.number : 0;
    while (!signal.aborted) {
      const question = { incarnation: hello.incarnation, after, waitMillis: pollMillis };
      const patience = { signal, timeoutMs: pollMillis + callMillis };
      const sentAt = now();
      const answer = await agent.askAsLeader(epoch, (api) => api.updates(question, patience));
      // Its clock may have been set since it told its machines.
      if (answer.clock) ahead.learn({ sentAt, shown: answer.clock, receivedAt: now() });
      if (answer.incarnation !== hello.incarnation) return;
      seen.answeredAt = performance.now();
      if (answer.updates.length > 0) {
        await events.statusUpdates(
          answer.updates.map((update) => ({ ...update, timestamp: Math.round(update.timestamp - ahead.millis) })),
        );
        // The next question is the acknowledgement, and only now may it be asked.
        after = answer.updates.at(-1)?.number ?? after;
      }
      if (answer.machinesVersion !== machinesVersion) machinesVersion = await reportMachines(hello.agentId);
      failuresInRow = 0;
    }
  }

  async function reportMachines(agentId: string): Promise<number> {
    const sentAt = now();
    const { machines, machinesVersion } = await agent.ask((api) => api.machines({}, { signal }));
    const shown = machines[0]?.seenAt;
    if (shown !== undefined) ahead.learn({ sentAt, shown: { first: shown, last: shown }, receivedAt: now() });
    seen.machines = machines.map(({ seenAt: _seenAt, ...machine }) => machine);
    await events.machines([
      { agentId, machines: seen.machines.map((machine) => ({ ...machine, silentForMillis: 0 })) },
    ]);
    return machinesVersion;
  }
}
