import type { FollowCondition, FollowMode, TaskState } from '../model/enums.js';
import { mostRunsOfFlow } from './limits.js';

/** A run whose last try has ended. */
export interface RunEnd {
  requestId: string;
  runId: string;
  /** Its last try. */
  taskId: string;
  state: TaskState;
  endedAt: number;
  /** False: it may still run, and its machine may come back with it. */
  isOver: boolean;
  /** The next run of its schedule ended it. */
  isReplaced?: boolean;
  /** Arguments with which it ran. */
  args?: readonly string[];
}

/** A request that follows others. */
export interface Follower {
  requestId: string;
  parents: readonly { requestId: string; on: FollowCondition }[];
  mode: FollowMode;
  takesArgs: boolean;
}

/** A flow as it is stored before some of its runs end. */
export interface Flow {
  id: string;
  /** Number of its runs. */
  runs: number;
  /** Runs of it that are known, by `runKey`; true: they have ended. */
  known: ReadonlyMap<string, boolean>;
  /** By follower in mode ALL and parent: the run of the parent that ended as the follower wants. */
  fanIn: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** A run of a follower that an end makes. */
export interface FollowUp {
  requestId: string;
  /** Task id of the end that makes it: one end makes at most one run of a follower. */
  cause: string;
  /** Task ids of the runs that it follows. */
  parentRuns: readonly string[];
  args?: readonly string[];
}

/** Changes of a flow. */
export interface FlowChange {
  /** Runs that were not known to have ended, in the order given. */
  ended: RunEnd[];
  /** Runs that may go on, with which the flow begins. */
  opened: RunEnd[];
  /** Parents that have ended as a follower in mode ALL wants. */
  met: { requestId: string; parentId: string; taskId: string }[];
  made: FollowUp[];
  /** Number of runs that are not made: the flow has as many as it may have. */
  refused: number;
}

export const runKey = ({ requestId, runId }: Pick<RunEnd, 'requestId' | 'runId'>): string =>
  JSON.stringify([requestId, runId]);

/** A task that cannot be reached may still run, and its machine may come back with it: what follows waits for the true end. */
export const isOver = (state: TaskState): boolean => state !== 'TASK_UNREACHABLE';

/** A run that another one replaced was cut short: it tells of neither success nor failure. */
export function meets(on: FollowCondition, { state, isReplaced }: Pick<RunEnd, 'state' | 'isReplaced'>): boolean {
  if (on === 'END') return true;
  return on === 'SUCCESS' ? state === 'TASK_FINISHED' : state !== 'TASK_FINISHED' && !isReplaced;
}

/** Follow-ups of ends that come together, in their order. A run ends once: what is told of it later changes nothing. */
export function followUps(ends: readonly RunEnd[], followers: readonly Follower[], flow: Flow): FlowChange {
  const change: FlowChange = { ended: [], opened: [], met: [], made: [], refused: 0 };
  const known = new Map(flow.known);
  const fanIn = new Map([...flow.fanIn].map(([id, parents]) => [id, new Map(parents)]));
  let { runs } = flow;
  for (const end of ends) {
    const isEnded = known.get(runKey(end));
    if (isEnded) continue;
    // A run that is not known yet is the one with which the flow begins.
    if (isEnded === undefined) runs += 1;
    known.set(runKey(end), end.isOver);
    if (!end.isOver) {
      if (isEnded === undefined) change.opened.push(end);
      continue;
    }
    change.ended.push(end);
    for (const follower of followers) {
      const parentRuns = parentsOf(follower, end, fanIn, change);
      if (!parentRuns) continue;
      if (runs >= mostRunsOfFlow) {
        change.refused += 1;
        continue;
      }
      runs += 1;
      const args = follower.takesArgs ? end.args : undefined;
      change.made.push({ requestId: follower.requestId, cause: end.taskId, parentRuns, ...(args && { args }) });
    }
  }
  return change;
}

/** Runs that a new run of the follower follows; undefined: this end makes none. */
function parentsOf(
  { requestId, parents, mode }: Follower,
  end: RunEnd,
  fanIn: Map<string, Map<string, string>>,
  change: FlowChange,
): string[] | undefined {
  const isMet = parents.some(({ requestId: id, on }) => id === end.requestId && meets(on, end));
  if (!isMet) return undefined;
  if (mode === 'ANY') return [end.taskId];
  const met = fanIn.get(requestId) ?? new Map<string, string>();
  fanIn.set(requestId, met);
  // Of several runs of a parent the first one counts: there is one run of the follower in a flow.
  if (met.has(end.requestId)) return undefined;
  met.set(end.requestId, end.taskId);
  change.met.push({ requestId, parentId: end.requestId, taskId: end.taskId });
  return parents.every((parent) => met.has(parent.requestId))
    ? parents.map((parent) => met.get(parent.requestId)!)
    : undefined;
}
