import type { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import { isTerminal, type TaskState } from '../../../src/core/model/enums.js';
import type { SeenEnd, SeenTask } from '../world/world.js';
import { LawBroken } from './law-broken.js';

const ranks: Partial<Record<TaskState, number>> = {
  TASK_LAUNCHED: 0,
  TASK_STAGING: 1,
  TASK_STARTING: 2,
  TASK_RUNNING: 3,
  TASK_KILLING: 4,
};
const rank = (state: TaskState): number => ranks[state] ?? 5;

/** Its end was concluded from the silence of its machine, on which it may run on. */
export const isGivenUp = ({ state }: Pick<SeenTask, 'state'>): boolean => state === 'TASK_UNREACHABLE';

/** Task states only move forward, and what has ended never changes again, unless it was given up. */
export function checkForward(before: Pick<SeenTask, 'state' | 'endedAt'>, after: SeenTask): void {
  const law = 'Task states only move forward';
  if (isGivenUp(before)) return;
  if (rank(after.state) < rank(before.state)) {
    throw new LawBroken(law, `${after.taskId.id} from ${before.state} to ${after.state}`);
  }
  if (before.endedAt === undefined) return;
  if (after.endedAt !== before.endedAt || after.state !== before.state) {
    throw new LawBroken(law, `${after.taskId.id} ended as ${before.state} and is ${after.state} now`);
  }
}

/**
 * The history of a task that has ended has no gaps. One that was given up and could not go on when its machine was back has its end only:
 * what it had reported before came after it was over.
 */
export function checkHistory({ taskId, updates }: SeenEnd, cluster: SimulatedCluster, wasGivenUp = false): void {
  const broken = (what: string) =>
    new LawBroken('History has no gaps', `${taskId.id} ${what}: ${updates.map(({ state }) => state).join(', ')}`);
  const course = updates.filter(({ state }) => state !== 'TASK_CLEANING');
  if (course[0]?.state !== 'TASK_LAUNCHED') throw broken('does not begin with its launch');
  const ends = course.filter(({ state }) => isTerminal(state));
  const [end] = ends;
  if (ends.length !== 1 || !end) throw broken(`has ${ends.length} ends`);
  if (new Set(course.map(({ state }) => state)).size < course.length) throw broken('has a status twice');
  if (course.some(({ at }) => at > end.at)) throw broken('goes on after its end');
  const toldByMachine = end.state === 'TASK_FINISHED' || end.state === 'TASK_FAILED' || end.state === 'TASK_KILLED';
  const hasStarted = (cluster.starts.get(taskId.id) ?? 0) > 0;
  if (toldByMachine && hasStarted && !wasGivenUp && !course.some(({ state }) => state === 'TASK_STARTING')) {
    throw broken('lacks its start');
  }
}
