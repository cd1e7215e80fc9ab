import { instancesOf, type Request } from '../model/request.js';
import type { PendingTaskId } from '../model/task.js';
import { plansAhead } from '../schedules/index.js';

/** A pending task and what decides whether its delay counts. */
export interface WaitingTask {
  pendingTaskId: PendingTaskId;
  onDemand: boolean;
  /** Runs of its request that are allowed at a time (absent: no limit was set), and that are active. */
  instances?: number;
  running: number;
  /** It waits for a run of its request, as its overlapPolicy says. */
  buffered?: boolean;
}

interface LateTasks {
  late: PendingTaskId[];
  onDemandLate: PendingTaskId[];
  future: number;
  /** The longest delay of the late ones, in milliseconds. */
  maxLagMillis: number;
}

/**
 * Tasks that should run by now and do not. Those of ON_DEMAND requests are told apart, and count only while their
 * request has room for them: behind a full one they wait as they should.
 */
export function findLateTasks(waiting: readonly WaitingTask[], lateAfterMillis: number, now: number): LateTasks {
  const isLate = ({ pendingTaskId, buffered }: WaitingTask): boolean =>
    !buffered && now - pendingTaskId.nextRunAt > lateAfterMillis;
  const hasRoom = ({ instances, running }: WaitingTask): boolean => instances !== undefined && running < instances;
  const late = waiting.filter((task) => !task.onDemand && isLate(task)).map((task) => task.pendingTaskId);
  const onDemandLate = waiting
    .filter((task) => task.onDemand && hasRoom(task) && isLate(task))
    .map((task) => task.pendingTaskId);
  const lags = [...late, ...onDemandLate].map(({ nextRunAt }) => now - nextRunAt);
  return {
    late,
    onDemandLate,
    future: waiting.length - late.length - onDemandLate.length,
    maxLagMillis: lags.reduce((most, lag) => Math.max(most, lag), 0),
  };
}

/** Facts that decide if a request has the tasks that it should have. */
export interface ProvisionedRequest extends Pick<
  Request,
  'requestType' | 'instances' | 'overlapPolicy' | 'missedRuns'
> {
  id: string;
  hasDeploy: boolean;
  /** Active tasks, and those of them that have to go. */
  active: number;
  cleaning: number;
  /** Tasks that wait for their time or for a machine. */
  waiting: number;
  /** The scheduler is still to look at it. */
  queued: boolean;
}

type Provisioning = 'OVER' | 'UNDER' | 'RIGHT';

export function judgeProvisioning(request: ProvisionedRequest): Provisioning {
  if (plansAhead(request)) {
    // Any number of runs may go on or wait beside the next one.
    const isPlanned = request.active + request.waiting > 0 || request.queued || !request.hasDeploy;
    return isPlanned ? 'RIGHT' : 'UNDER';
  }
  const leaving = request.requestType === 'SCHEDULED' ? 0 : request.cleaning;
  const have = request.active + request.waiting - leaving;
  const want = request.requestType === 'SCHEDULED' ? 1 : instancesOf(request);
  if (have > want) return 'OVER';
  return have < want && !request.queued && request.hasDeploy ? 'UNDER' : 'RIGHT';
}
