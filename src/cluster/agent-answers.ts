import { HttpErrorException } from 'rest-contract';
import { highestEpochHeader } from '../agent/wire/agent-api.js';
import { messageOf } from '../platform/files.js';
import {
  type Epoch,
  MachineUnreachableError,
  StaleEpochError,
  type TaskCheck,
  type TaskCheckAnswer,
} from './cluster-driver.js';

/** Time for the way to an agent and back, beside that of the command that it runs. */
const checkMillis = 5_000;

/** No answer, or none in time: whether the call was carried out is not known. */
export class AgentUnreachable extends Error {}
/** The agent answered that it cannot do this. */
export class AgentRefused extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** The highest epoch, when that of the call is over. */
    readonly highestEpoch?: Epoch,
  ) {
    super(message);
  }
}

/** Throws AgentUnreachable or AgentRefused. `where`: the address, for people. */
export async function answerFrom<T>(where: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof HttpErrorException) {
      const [, highest] = cause.headers.find(([name]) => name.toLowerCase() === highestEpochHeader) ?? [];
      throw new AgentRefused(cause.status, cause.message, highest === undefined ? undefined : Number(highest));
    }
    throw new AgentUnreachable(`No readable answer from the agent at ${where}`, { cause });
  }
}

/** undefined: there is no such thing. */
export async function ifFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof AgentRefused && cause.status === 404) return undefined;
    throw cause;
  }
}

/** Throws StaleEpochError when the agent has seen a higher epoch. */
export async function unlessStale<T>(epoch: Epoch, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    const highest = cause instanceof AgentRefused ? cause.highestEpoch : undefined;
    if (highest !== undefined) throw new StaleEpochError(epoch, highest);
    throw cause;
  }
}

export async function orUnreachable<T>(slaveId: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof AgentUnreachable) throw new MachineUnreachableError(slaveId, { cause });
    throw cause;
  }
}

/** Answer of an agent that runs a check, for which `ask` waits so long. Throws StaleEpochError. */
export async function checkAnswer(
  { timeoutMillis }: TaskCheck,
  ask: (patience: { timeoutMs: number }) => Promise<TaskCheckAnswer>,
): Promise<TaskCheckAnswer> {
  try {
    return await ask({ timeoutMs: timeoutMillis + checkMillis });
  } catch (cause) {
    if (cause instanceof StaleEpochError) throw cause;
    return { outcome: 'UNKNOWN', reason: messageOf(cause) };
  }
}
