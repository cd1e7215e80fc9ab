import type { HealthcheckOptions } from '../model/deploy.js';
import type { HealthSettings } from './timings.js';

/** Liveness of a deploy with every gap filled. All times in milliseconds. */
export interface LivenessRules {
  intervalMillis: number;
  timeoutMillis: number;
  /** Failed checks in a row that make a task sick. */
  failureThreshold: number;
  /** Path to ask for, where the check asks for one. */
  uri?: string;
  /** A sick task is replaced; false: it is only told of. */
  restarts: boolean;
  /** Absent: by the number of instances. */
  maxReplacements?: number;
}

const usualIntervalSeconds = 10;
const usualThreshold = 3;

/** undefined: a task that has passed its health check is not asked again. */
export function livenessRules(
  options: HealthcheckOptions | undefined,
  settings: Pick<HealthSettings, 'healthcheckTimeoutSeconds'>,
): LivenessRules | undefined {
  const liveness = options?.liveness;
  if (!options || !liveness) return undefined;
  const timeoutSeconds =
    liveness.timeoutSeconds ?? options.responseTimeoutSeconds ?? settings.healthcheckTimeoutSeconds;
  return {
    intervalMillis: (liveness.intervalSeconds ?? usualIntervalSeconds) * 1000,
    timeoutMillis: timeoutSeconds * 1000,
    failureThreshold: liveness.failureThreshold ?? usualThreshold,
    uri: liveness.uri ?? options.uri,
    restarts: (liveness.action ?? 'RESTART') === 'RESTART',
    maxReplacements: liveness.maxUnhealthyReplacements,
  };
}

/** State of a task that failed its last liveness check, kept in a row. Times in epoch milliseconds. */
export interface FailingState {
  /** Failed checks in a row, counted up to the threshold. */
  failures: number;
  failingSince: number;
  /** Time at which the threshold was reached; absent: not yet. */
  sickSince?: number;
}

interface LivenessCheck {
  at: number;
  passed: boolean;
}

/** The state after one more check; undefined: the task is well. A sick one counts no further: nothing new is learned. */
export function afterLivenessCheck(
  former: FailingState | undefined,
  { at, passed }: LivenessCheck,
  { failureThreshold }: Pick<LivenessRules, 'failureThreshold'>,
): FailingState | undefined {
  if (passed) return undefined;
  const failures = (former?.failures ?? 0) + 1;
  const failingSince = former?.failingSince ?? at;
  if (former?.sickSince !== undefined) return former;
  return { failures, failingSince, ...(failures >= failureThreshold && { sickSince: at }) };
}

/** A watched task, and what this checker itself has seen of it. */
export interface WatchedInstance {
  requestId: string;
  slaveId: string;
  /** Its newest check by this checker. Absent: it has not asked it yet. */
  own?: {
    at: number;
    /** Something came back, whatever it said. */
    answered: boolean;
  };
}

/** Decides whether this checker can tell a failing task from a network that is broken on its own side. */
export class Reach {
  private readonly lastAnswerAt: number;
  private readonly hasSeveral: boolean;

  /** `watched`: every task that this checker asks. */
  constructor(watched: Iterable<WatchedInstance>) {
    let last = Number.NEGATIVE_INFINITY;
    let first: WatchedInstance | undefined;
    let several = false;
    for (const instance of watched) {
      first ??= instance;
      several ||= instance.requestId !== first.requestId || instance.slaveId !== first.slaveId;
      if (instance.own?.answered && instance.own.at > last) last = instance.own.at;
    }
    this.lastAnswerAt = last;
    this.hasSeveral = several;
  }

  /**
   * True when what the checks of a task say is its own fault. An answer, whatever it says, tells so. A task without an answer is not
   * believed to be sick while nobody has answered since `sickSince`, of several requests or machines: then it is the checker that
   * reaches nobody. So a checker that has just begun waits for a first answer.
   */
  canJudge({ own }: WatchedInstance, sickSince: number): boolean {
    if (!own) return false;
    return own.answered || this.lastAnswerAt >= sickSince || !this.hasSeveral;
  }
}
