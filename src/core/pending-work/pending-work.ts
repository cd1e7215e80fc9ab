import type { DeployProgress } from '../model/deploy.js';
import { type DeployState, promisedTypes, type TaskCleanupType, type TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingRequest, PendingTask, TaskId } from '../model/task.js';
import type { RequestToRun } from './next-run-at.js';

/** The entries of the pending queue that wait for one request and one of its deploys, with all a decision reads. */
export interface PendingWork {
  /** undefined: the request is gone. */
  request: WaitingRequest | undefined;
  deployId: string;
  /** In the order of their timestamps. */
  entries: readonly PendingRequest[];
  /** Every active task of the request, of whatever deploy. */
  tasks: readonly ActiveTask[];
  /** Ids of the pending tasks of this request and deploy. */
  pendingTaskIds: ReadonlySet<string>;
  /** One of the pending tasks of a job is a run that was promised, and not its next turn. */
  runWaits: boolean;
  /** The cooldown condition holds for the deploy. */
  failingFast: boolean;
  /** Gives each run the id of the flow that it begins. Absent: no request follows this one. */
  newFlowId?: () => string;
  /** State in which the newest run of the deploy ended. Used for RUN_ONCE requests. */
  lastEnd?: TaskState;
}

export interface WaitingRequest extends RequestToRun {
  activeDeployId?: string;
  /** The deploy that is being rolled out; requests whose deploys are active at once never have one. */
  pendingDeploy?: { deployId: string; state: DeployState; progress?: DeployProgress; updatedRequest?: Request };
}

export interface ActiveTask {
  taskId: TaskId;
  slaveId: string;
  /** As the machine gave it, not sanitized. */
  rackId: string;
  /** Type of the cleanup it is in. */
  cleaning?: TaskCleanupType;
  killed: boolean;
}

export interface WorkRules extends SpreadRules {
  cooldownMinScheduleMillis: number;
}

/** Rules for the spread of tasks over racks and slaves. */
export interface SpreadRules {
  rebalanceRacksOnScaleDown: boolean;
  /** The expected number of racks, else the number of ACTIVE ones. */
  rackCount: number;
  attributesOf: (slaveId: string) => Readonly<Record<string, string>>;
  /** It takes tasks. Absent: all do. */
  isActive?: (slaveId: string) => boolean;
  /** It has one task on each slave. Absent: none does. */
  onePerSlave?: (request: Request) => boolean;
}

/** Outcome of one entry. Only hold and later leave it in the queue. */
export type EntryOutcome =
  | {
      kind: 'obsolete';
      why: 'REQUEST_GONE' | 'REQUEST_NOT_RUNNABLE' | 'DEPLOY_NOT_IN_USE' | 'NO_DEPLOY_PENDING' | 'HAS_RUN';
    }
  /** Waits until the run in progress ends. */
  | { kind: 'hold' }
  /** One entry per pass changes the pending tasks; the others look again afterwards. */
  | { kind: 'later' }
  /** An entry before it already planned the run it asks for. */
  | { kind: 'replaced' }
  | { kind: 'scheduled' };

export interface PlannedCleanup {
  taskId: TaskId;
  cleanupType: 'SCALING_DOWN' | 'REBALANCE_RACKS' | 'REBALANCE_SLAVE_ATTRIBUTES';
  user?: string;
}

export interface WorkDecision {
  /** One per entry, in their order. */
  outcomes: EntryOutcome[];
  leavesCooldown: boolean;
  /** Its schedule has no further run. */
  finishes: boolean;
  /** Delete what waits for this request and deploy before creating: the whole set is recomputed. */
  replacesPendingTasks: boolean;
  create: PendingTask[];
  cleanups: PlannedCleanup[];
}

/**
 * True when an entry of a SCHEDULED request stays until the promised runs of its deploy were launched: it would plan
 * the next scheduled run in their place, and they would be lost.
 */
export const waitsForPromises = (
  { pendingType }: Pick<PendingRequest, 'pendingType'>,
  deploy: { runWaits: boolean; entries: readonly Pick<PendingRequest, 'pendingType'>[] },
): boolean =>
  !promisedTypes.includes(pendingType) &&
  (deploy.runWaits || deploy.entries.some((entry) => entry.pendingType === 'RETRY'));

/**
 * True when an entry of a SCHEDULED request stays until its runs have ended: a new deploy, and everything else of a
 * deploy that has no run, since the end of a run plans only the deploy it is of.
 */
export const waitsForRuns = (
  { pendingType, deployId }: Pick<PendingRequest, 'pendingType' | 'deployId'>,
  runs: readonly { taskId: Pick<TaskId, 'deployId'> }[],
): boolean =>
  runs.length > 0 && (pendingType === 'NEW_DEPLOY' || runs.every(({ taskId }) => taskId.deployId !== deployId));
