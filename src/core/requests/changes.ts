import { canonical } from '../content-id.js';
import { type ExpiringKind, isLongRunning, type RequestState } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import {
  type ActiveTask,
  misplacedTasks,
  type PlannedCleanup,
  type SpreadRules,
  surplusOnePerSlave,
} from '../pending-work/index.js';
import { timingMembers } from '../schedules/index.js';

/** A change after which the scheduler has to look at the request again: how many tasks it wants, or when. */
export const changesWork = (before: Request, after: Request): boolean =>
  instancesOf(before) !== instancesOf(after) ||
  expressionOf(before) !== expressionOf(after) ||
  (after.requestType === 'SCHEDULED' &&
    besideExpression.some((member) => canonical(before[member] ?? null) !== canonical(after[member] ?? null)));

/** The evaluated expression: the Quartz form, which a rule of RFC 5545 does not have. */
const expressionOf = ({ quartzSchedule, schedule }: Request): string | undefined => quartzSchedule ?? schedule;

/** Planned runs follow them at once. */
const besideExpression = timingMembers.filter((member) => member !== 'schedule' && member !== 'quartzSchedule');

/** An update keeps the state, but a request whose schedule had ended wakes up when it has something to do again. */
export const stateAfterUpdate = (state: RequestState, workChanged: boolean): RequestState =>
  state === 'FINISHED' && workChanged ? 'ACTIVE' : state;

/** The instances that are too many after an update: those with a number beyond the new count. */
export function surplusTasks<T extends { instanceNo: number }>(
  before: Request,
  after: Request,
  tasks: readonly T[],
): T[] {
  const instances = instancesOf(after);
  return instances < instancesOf(before) ? tasks.filter((task) => task.instanceNo > instances) : [];
}

/** Message of a scale in the history: the operator's words, then its effect. */
export const scaleMessage = (from: number, to: number, message: string | undefined): string =>
  `${message ? `${message} -- ` : ''}Scaled from ${from} to ${to}`;

/**
 * Tasks to kill when a request gets fewer instances: tasks with a number beyond the new count, and of those that stay
 * the ones that crowd a rack, or stand in the way of an attribute that needs its share. `tasks`: active ones of the
 * active deploy. Tasks that are being killed already are left alone.
 */
export function shrink(
  before: Request,
  after: Request,
  tasks: readonly ActiveTask[],
  rules: SpreadRules,
  onePerSlave = false,
): PlannedCleanup[] {
  if (instancesOf(after) >= instancesOf(before)) return [];
  const candidates = tasks.filter((task) => task.cleaning === undefined && !task.killed);
  const surplus = onePerSlave
    ? surplusOnePerSlave(candidates, candidates.length - instancesOf(after), rules).map(({ taskId }) => taskId)
    : surplusTasks(
        before,
        after,
        candidates.map(({ taskId }) => taskId),
      );
  const cleanups: PlannedCleanup[] = surplus.map((taskId) => ({ taskId, cleanupType: 'SCALING_DOWN' }));
  // The place of a run is no reason to begin it anew.
  if (!isLongRunning(after.requestType)) return cleanups;
  const staying = candidates
    .filter(({ taskId }) => !surplus.includes(taskId))
    .toSorted(({ taskId: a }, { taskId: b }) => b.instanceNo - a.instanceNo || a.startedAt - b.startedAt);
  // As many instances as racks, or fewer, could not have crowded any.
  const racksMatter = instancesOf(before) > rules.rackCount;
  const spread = racksMatter ? rules : { ...rules, rebalanceRacksOnScaleDown: false };
  const moves = misplacedTasks(after, staying, spread);
  return [...cleanups, ...moves.map(({ task, cleanupType }) => ({ taskId: task.taskId, cleanupType }))];
}

const names: Readonly<Record<ExpiringKind, string>> = {
  BOUNCE: 'Bounce',
  PAUSE: 'Pause',
  SCALE: 'Scale',
  PRIORITY: 'Priority',
  SKIP_HEALTHCHECKS: 'Skip healthchecks',
  SLAVE: 'Slave state change',
  RACK: 'Rack state change',
};

/** Message in the history when a change has expired: the change, its duration, and the message given with it. */
export const lapseMessage = (kind: ExpiringKind, durationMillis: number, message: string | undefined): string =>
  `${names[kind]} expired after ${duration(durationMillis)}${message ? ` (${message})` : ''}`;

/** mm:ss.mmm, with hours in front where there are any. */
function duration(millis: number): string {
  const hours = Math.floor(millis / 3_600_000);
  const minutes = Math.floor((millis / 60_000) % 60);
  const seconds = Math.floor((millis / 1000) % 60);
  const two = (part: number): string => String(part).padStart(2, '0');
  const short = `${two(minutes)}:${two(seconds)}.${String(millis % 1000).padStart(3, '0')}`;
  return hours > 0 ? `${two(hours)}:${short}` : short;
}

/** A change is over when more time than it was given has gone by. */
export const hasLapsed = (startMillis: number, durationMillis: number, now: number): boolean =>
  now - startMillis > durationMillis;
