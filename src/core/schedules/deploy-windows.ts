import { type FieldError, errorBelow } from '../field-error.js';
import type { Request } from '../model/request-spec.js';
import { nextWindow, readWindow, type Window, windowAt } from './windows.js';

type WindowedRequest = Pick<Request, 'id' | 'scheduleTimeZone' | 'deployWindows'>;

/** No deploy starts now. */
export interface ClosedWindows {
  /** When the next window opens, in epoch milliseconds; absent: none does. */
  opensAt?: number;
}

/** Reads the windows in which deploys start, or says everything that is wrong with them. */
export function readDeployWindows(
  request: WindowedRequest,
  since?: number,
): { windows: Window[]; errors: FieldError[] } {
  const windows: Window[] = [];
  const errors: FieldError[] = [];
  for (const [index, each] of (request.deployWindows ?? []).entries()) {
    const read = readWindow(each, request, since);
    if ('errors' in read) errors.push(...read.errors.map((error) => errorBelow(`deployWindows.${index}.`, error)));
    else windows.push(read);
  }
  return { windows, errors };
}

/** undefined: a deploy may start. `since`: when the request was saved first. */
export function closedWindows(
  request: WindowedRequest,
  since: number | undefined,
  now: number,
): ClosedWindows | undefined {
  if (!request.deployWindows) return undefined;
  const { windows } = readDeployWindows(request, since);
  return windowAt(windows, now) ? undefined : { opensAt: nextWindow(windows, now) };
}
