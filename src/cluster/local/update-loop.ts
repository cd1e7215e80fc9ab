import { setTimeout as delay } from 'node:timers/promises';
import { paths, type HelloAnswer, type MachinesAnswer, type UpdatesAnswer } from '../../agent/protocol.js';
import { messageOf } from '../../agent/files.js';
import type { Log } from '../../agent/log.js';
import { StaleEpochError, type ClusterDriver, type ClusterEvents, type MachineSnapshot } from '../cluster-driver.js';
import type { AgentConnection } from './agent-connection.js';

const callMillis = 5_000;
const pollMillis = 20_000;
const firstRetryMillis = 50;
const lastRetryMillis = 1_000;

type AppliedUpdate = Parameters<ClusterDriver['start']>[2];

/** Where the loop keeps what it learns about the agent. */
export interface Seen {
  machines: Map<string, MachineSnapshot>;
  /** Epoch millis of the agent's last answer. */
  answeredAt: number;
  /** Set when the agent has seen a higher epoch: this process leads no more. */
  staleEpoch?: StaleEpochError;
}

/**
 * Follows one agent: says hello, tells its machines, then pulls its status updates for as long as `signal` allows.
 * An agent that does not answer is waited for, however long that takes: its tasks run on.
 */
export async function followAgent(
  agent: AgentConnection,
  { epoch, events, appliedUpdate }: { epoch: number; events: ClusterEvents; appliedUpdate: AppliedUpdate },
  seen: Seen,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  let retryMillis = firstRetryMillis;
  let isDown = false;
  while (!signal.aborted) {
    try {
      await followOnce();
    } catch (cause) {
      if (signal.aborted) return;
      if (cause instanceof StaleEpochError) {
        seen.staleEpoch = cause;
        log.warn(`${cause.message}; no more updates are taken from the agent`);
        return;
      }
      if (!isDown) log.warn(`Cannot follow the agent: ${messageOf(cause)}; trying again until it works`);
      isDown = true;
      await delay(retryMillis, undefined, { signal }).catch(() => undefined);
      retryMillis = Math.min(retryMillis * 2, lastRetryMillis);
    }
  }

  /** Until something fails or another incarnation answers. */
  async function followOnce(): Promise<void> {
    const hello = await must<HelloAnswer>(paths.hello, { method: 'POST', body: { epoch } });
    let machinesVersion = await tellMachines();
    if (isDown) log.info(`Following agent '${hello.agentId}' again`);
    isDown = false;
    const applied = await appliedUpdate(hello.agentId);
    let after = applied?.incarnation === hello.incarnation ? applied.number : 0;
    while (!signal.aborted) {
      const query = { epoch, incarnation: hello.incarnation, after, waitMillis: pollMillis };
      const answer = await must<UpdatesAnswer>(paths.updates, { query, timeoutMillis: pollMillis + callMillis });
      if (answer.incarnation !== hello.incarnation) return;
      if (answer.updates.length > 0) {
        await events.statusUpdates(answer.updates);
        // The next question is the acknowledgement, and only now may it be asked.
        after = answer.updates.at(-1)?.number ?? after;
      }
      if (answer.machinesVersion !== machinesVersion) machinesVersion = await tellMachines();
      retryMillis = firstRetryMillis;
    }
  }

  async function tellMachines(): Promise<number> {
    const { machines, machinesVersion } = await must<MachinesAnswer>(paths.machines, {});
    const present = new Set(machines.map((machine) => machine.slaveId));
    for (const machine of machines) {
      seen.machines.set(machine.slaveId, machine);
      await events.machineUp(machine);
    }
    for (const slaveId of [...seen.machines.keys()].filter((id) => !present.has(id))) {
      seen.machines.delete(slaveId);
      await events.machineDown(slaveId, 'the agent does not present it any more');
    }
    return machinesVersion;
  }

  async function must<T>(path: string, options: Partial<Parameters<AgentConnection['call']>[1]>): Promise<T> {
    const answer = await agent.call<T>(path, { timeoutMillis: callMillis, signal, epoch, ...options });
    if (answer === undefined) throw new Error(`the agent does not know ${path}`);
    seen.answeredAt = Date.now();
    return answer;
  }
}
