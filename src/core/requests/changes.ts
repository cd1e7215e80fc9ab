import type { RequestState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { instancesOf } from '../request-validation/index.js';

/**
 * A change after which the scheduler has to look at the request again: how many tasks it wants, or when. A run that is
 * planned keeps its time when only the zone changes; the runs after it follow the new one.
 */
export const changesWork = (before: Request, after: Request): boolean =>
  instancesOf(before) !== instancesOf(after) || expressionOf(before) !== expressionOf(after);

/** What is evaluated: the Quartz form, which a rule of RFC 5545 does not have. */
const expressionOf = ({ quartzSchedule, schedule }: Request): string | undefined => quartzSchedule ?? schedule;

/** An update keeps the state, but a request whose schedule had ended wakes up when it has something to do again. */
export const stateAfterUpdate = (state: RequestState, workChanged: boolean): RequestState =>
  state === 'FINISHED' && workChanged ? 'ACTIVE' : state;

/** The instances that are too many after an update: those with a number beyond the new count. */
export function surplusTasks<T extends { instanceNo: number }>(
  before: Request,
  after: Request,
  tasks: readonly T[],
): T[] {
  const wanted = instancesOf(after);
  return wanted < instancesOf(before) ? tasks.filter((task) => task.instanceNo > wanted) : [];
}

/** What the history says of a scale: the operator's words, then what it did. */
export const scaleMessage = (from: number, to: number, message: string | undefined): string =>
  `${message ? `${message} -- ` : ''}Scaled from ${from} to ${to}`;
