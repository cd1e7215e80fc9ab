import { canonical } from '../content-id.js';
import { type FieldError, errorBelow } from '../field-error.js';
import type { Request } from '../model/request-spec.js';
import { nextWindow, readWindow, type Window, windowAt } from './windows.js';

/** A request, or a group of requests. */
type Windowed = Pick<Request, 'id' | 'scheduleTimeZone' | 'deployWindows'>;

/** Windows of a group, which hold for all of its requests. */
export interface GroupWindows extends Pick<Request, 'deployWindows'> {
  id: string;
  /** When they were saved first. */
  windowsSince?: number;
}

/** No deploy starts now. */
export interface ClosedWindows {
  /** When the next window opens, in epoch milliseconds; absent: none does. */
  opensAt?: number;
  /** Group whose windows these are; absent: those of the request. */
  groupId?: string;
}

/** Reads the windows in which deploys start, or says everything that is wrong with them. */
export function readDeployWindows(
  { id, scheduleTimeZone, deployWindows }: Windowed,
  since?: number,
): { windows: Window[]; errors: FieldError[] } {
  const windows: Window[] = [];
  const errors: FieldError[] = [];
  for (const [index, each] of (deployWindows ?? []).entries()) {
    const read = readWindow(each, { id, scheduleTimeZone }, since);
    if ('errors' in read) errors.push(...read.errors.map((error) => errorBelow(`deployWindows.${index}.`, error)));
    else windows.push(read);
  }
  return { windows, errors };
}

/**
 * undefined: a deploy may start, because windows of the request and of each of its groups are open. Of several that are closed, those that
 * open last are told. `since`: when the request was saved first.
 */
export function closedWindows(
  request: Windowed,
  since: number | undefined,
  groups: readonly GroupWindows[],
  now: number,
): ClosedWindows | undefined {
  const closed = [
    { opensAt: opening(request, since, now) },
    ...groups.map(({ id, deployWindows, windowsSince }) => ({
      opensAt: opening({ id, deployWindows }, windowsSince, now),
      groupId: id,
    })),
  ].filter(({ opensAt }) => opensAt !== 'open') as ClosedWindows[];
  return closed.toSorted((a, b) => (b.opensAt ?? Infinity) - (a.opensAt ?? Infinity) || 0)[0];
}

/** undefined: they never open again. */
function opening(windowed: Windowed, since: number | undefined, now: number): number | 'open' | undefined {
  if (!windowed.deployWindows) return 'open';
  const { windows } = readDeployWindows(windowed, since);
  return windowAt(windows, now) ? 'open' : nextWindow(windows, now);
}

/** Why a deploy of the request is refused. */
export function closedWindowsText(requestId: string, { opensAt, groupId }: ClosedWindows): string {
  const owner = groupId === undefined ? 'its deployWindows' : `the deployWindows of group '${groupId}'`;
  const next =
    opensAt === undefined ? 'none of them opens again' : `the next one opens at ${new Date(opensAt).toISOString()}`;
  return `Deploys of request '${requestId}' start within ${owner} only; ${next}`;
}

/** Windows that are stored may be over: what else is stored with them can still be changed. */
export function pastWindowsProblem(
  windowed: Windowed,
  stored: Pick<Request, 'deployWindows'> | undefined,
  now: number,
): FieldError | undefined {
  if (!windowed.deployWindows || isSameWindows(windowed, stored)) return undefined;
  const opens = opening(windowed, undefined, now);
  const message = 'deployWindows leave no future time: no deploy could start';
  return opens === undefined ? { field: 'deployWindows', rule: 'future', message } : undefined;
}

export const isSameWindows = (
  one: Pick<Request, 'deployWindows'>,
  other: Pick<Request, 'deployWindows'> | undefined,
): boolean => canonical(one.deployWindows ?? null) === canonical(other?.deployWindows ?? null);
