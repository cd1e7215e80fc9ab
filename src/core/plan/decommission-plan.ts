import { isLongRunning } from '../model/enums.js';
import type { PendingTask, TaskId } from '../model/task.js';
import { drain, type WaitingRequest, type WorkRules } from '../pending-work/index.js';
import {
  explainWaiting,
  type Explanation,
  type MachineView,
  type PlacementOutcome,
  type WaitingOutcome,
} from '../placement/index.js';
import { asActive, type PlanTask } from './fit.js';

/** A request with tasks on a machine that is to be emptied. */
export interface RequestToMove {
  waiting: WaitingRequest;
  /** Active tasks of the request, on whatever machine. */
  tasks: readonly PlanTask[];
  /** Ids of those that the decommission would tell to leave. */
  leaving: ReadonlySet<string>;
}

/** What becomes of a task whose machine is emptied. */
export type PlannedMove = { taskId: TaskId } & (
  | { outcome: 'MOVES'; machine: MachineView }
  /** No machine takes its replacement, so it stays where it is. */
  | { outcome: 'WAITS'; explanation: Explanation }
  /** A run of a job is not started a second time. */
  | { outcome: 'RUNS_TO_END' }
  /** Its request wants no task in its place. */
  | { outcome: 'NOT_REPLACED' }
);
export const moveOutcomes = ['MOVES', 'WAITS', 'RUNS_TO_END', 'NOT_REPLACED'] as const;
export type MoveOutcome = PlannedMove['outcome'];

/** Pending tasks that the queue would create once these tasks are told to leave. */
export function replacements({ waiting, tasks, leaving }: RequestToMove, rules: WorkRules, now: number): PendingTask[] {
  const { request, state, activeDeployId, pendingDeploy } = waiting;
  const deployId = activeDeployId ?? pendingDeploy?.deployId;
  if (deployId === undefined || !isLongRunning(request.requestType)) return [];
  const work = {
    request: waiting,
    deployId,
    entries: [{ requestId: request.id, deployId, pendingType: 'DECOMISSIONED_SLAVE_OR_RACK', timestamp: now } as const],
    tasks: tasks.map((task) => asActive(leaving.has(task.taskId.id) ? { ...task, cleanup: 'DECOMISSIONING' } : task)),
    pendingTaskIds: new Set<string>(),
    runWaits: false,
    // Whether it still fails fast is seen when the queue is looked at; a plan takes it that it does.
    failingFast: state === 'SYSTEM_COOLDOWN',
  };
  return drain(work, rules, now).create;
}

/** Tells of each task that leaves where the replacement of its number goes. */
export function plannedMoves(
  requests: readonly RequestToMove[],
  outcomes: readonly PlacementOutcome[],
  machines: number,
): PlannedMove[] {
  const found = new Map(outcomes.map((outcome) => [instanceKey(outcome.pending.pendingTaskId), outcome]));
  return requests.flatMap(({ waiting, tasks, leaving }) =>
    tasks
      .filter(({ taskId }) => leaving.has(taskId.id))
      .map(({ taskId }): PlannedMove => {
        if (!isLongRunning(waiting.request.requestType)) return { taskId, outcome: 'RUNS_TO_END' };
        const outcome = found.get(instanceKey(taskId));
        if (outcome?.kind === 'place') return { taskId, outcome: 'MOVES', machine: outcome.machine };
        if (outcome?.kind === 'wait') return waits(taskId, outcome, machines);
        return { taskId, outcome: 'NOT_REPLACED' };
      }),
  );
}

const waits = (taskId: TaskId, outcome: WaitingOutcome, machines: number): PlannedMove => ({
  taskId,
  outcome: 'WAITS',
  explanation: explainWaiting(outcome, machines),
});

const instanceKey = ({ requestId, deployId, instanceNo }: Pick<TaskId, 'requestId' | 'deployId' | 'instanceNo'>) =>
  JSON.stringify([requestId, deployId, instanceNo]);
