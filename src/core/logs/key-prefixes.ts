import { sanitize } from '../task-id.js';
import { groupInKey, type KeyVariable, type PatternPart, patternParts } from './key-pattern.js';

/** Owner of the logs to find: a request, one of its deploys or one task. */
export interface LogOwner {
  requestId: string;
  deployId?: string;
  task?: { id: string; host: string };
}

export interface LogSubject {
  owner: LogOwner;
  group: string;
  /** The logging tag of the deploy, '' for none; absent: not known. */
  tag?: string;
}

/** Beginning of keys. */
export interface KeyPrefix {
  prefix: string;
  /** Position of the task id in such keys, if nothing before it names their owner. */
  taskIdAt?: number;
}

/** owner: it tells whose logs they are. */
type FilledPart = { text: string; owner?: 'requestId' | 'taskId' } | { date: DateVariable };

/**
 * Prefixes of all keys that the subject has written within the span, the newest first. undefined: the span is too long
 * for this pattern, which has the date before the owner.
 */
export function keyPrefixes(pattern: string, subject: LogSubject, span: TimeSpan): KeyPrefix[] | undefined {
  const parts = fill(patternParts(pattern), subject);
  const steps = stepsOf(
    parts.flatMap((part) => ('date' in part ? [part.date] : [])),
    span,
  );
  // A part of the date that no step tells ends what is known.
  const end = parts.findIndex((part) => 'date' in part && !steps.named.includes(part.date));
  const known = end === -1 ? parts : parts.slice(0, end);
  const owner = known.find((part) => 'text' in part && part.owner !== undefined);
  // Cut before the owner it would find the logs of all requests.
  if (end !== -1 && !owner) return undefined;
  const beforeTaskId = owner && 'text' in owner && owner.owner === 'taskId' ? known.indexOf(owner) : undefined;
  const prefixes = new Map<string, KeyPrefix>();
  for (const step of steps.dates) {
    const texts = known.map((part) => ('text' in part ? part.text : step[part.date]));
    const taskIdAt = beforeTaskId === undefined ? undefined : texts.slice(0, beforeTaskId).join('').length;
    prefixes.set(texts.join(''), { prefix: texts.join(''), ...(taskIdAt !== undefined && { taskIdAt }) });
  }
  return [...prefixes.values()];
}

/** Puts in what is known of the subject and stops at the first thing that is not, or is known in part. */
function fill(parts: readonly PatternPart[], subject: LogSubject): FilledPart[] {
  const filled: FilledPart[] = [];
  for (const part of parts) {
    const value = 'text' in part ? part : fillIn(part.variable, subject);
    if (value) filled.push(value);
    if (!value || ('variable' in part && part.variable === 'taskId' && !subject.owner.task)) break;
  }
  return filled;
}

function fillIn(variable: KeyVariable, { owner, group, tag }: LogSubject): FilledPart | undefined {
  const text = (value: string | undefined): FilledPart | undefined =>
    value === undefined ? undefined : { text: value };
  switch (variable) {
    case 'requestId':
      return { text: owner.requestId, owner: 'requestId' };
    case 'group':
      return text(groupInKey(group));
    // Of the deploys of a request each has its own.
    case 'tag':
      return text(owner.deployId === undefined ? undefined : tag);
    case 'deployId':
      return text(owner.deployId);
    case 'host':
      return text(owner.task && sanitize(owner.task.host));
    case 'taskId':
      return { text: owner.task?.id ?? ownIdBegins(owner), owner: 'taskId' };
    case 'Y':
    case 'm':
    case 'd':
    case 'H':
      return { date: variable };
    default:
      return undefined;
  }
}

/** With the '-' that follows in every task id, or the logs of 'web' would include those of 'website'. */
const ownIdBegins = ({ requestId, deployId }: LogOwner): string =>
  deployId === undefined ? `${requestId}-` : `${requestId}-${deployId}-`;

/**
 * Beginning of a task id: request, deploy, start time, instance. A file may be called '2026-1-log': the first that can
 * be read so is the id.
 */
const taskIdBegins = /^([\w-]+?)-([\w.]+)-\d{13}-\d{1,9}-/;

/**
 * True when a key below the prefix is the owner's. Ids contain '-', so 'web-' also begins those of the request
 * 'web-api'.
 */
export function isOwn(key: string, { taskIdAt }: KeyPrefix, { requestId, deployId }: LogOwner): boolean {
  if (taskIdAt === undefined) return true;
  const [, request, deploy] = taskIdBegins.exec(key.slice(taskIdAt)) ?? [];
  return request === requestId && (deployId === undefined || deploy === deployId);
}

/** A time span in epoch milliseconds. */
export interface TimeSpan {
  start: number;
  end: number;
}

/** Parts of the date in keys: year, month, day, hour; in UTC. From coarse to fine. */
const dateVariables = ['Y', 'm', 'd', 'H'] as const;
type DateVariable = (typeof dateVariables)[number];
type DateStep = Record<DateVariable, string>;

/** Number of places to look beyond which the search is coarser: below each day rather than below each hour. */
const mostSteps = 1_000;

const two = (value: number): string => String(value).padStart(2, '0');

/**
 * All dates that keys of the span can have, the newest first, as fine as the given parts tell them apart. `told`: the parts
 * that the dates tell; a long span has so many hours that only its days, months or years are gone through.
 */
function stepsOf(given: readonly DateVariable[], span: TimeSpan): { dates: DateStep[]; named: DateVariable[] } {
  const wanted = dateVariables.filter((variable) => given.includes(variable));
  if (span.end < span.start) return { dates: [], named: wanted };
  for (let count = wanted.length; count > 0; count--) {
    const named = wanted.slice(0, count);
    const dates = datesOf(named.at(-1)!, span);
    if (dates) return { dates, named };
  }
  return { dates: [stepAt(new Date(span.start))], named: [] };
}

/** undefined: too many. */
function datesOf(finest: DateVariable, { start, end }: TimeSpan): DateStep[] | undefined {
  const dates: DateStep[] = [];
  // From the start of the day: the clocks of those who wrote the files may have been in another time zone.
  for (let at = beginning(finest, new Date(start)); at.getTime() <= end; at = next(finest, at)) {
    if (dates.length === mostSteps) return undefined;
    dates.push(stepAt(at));
  }
  return dates.reverse();
}

function beginning(finest: DateVariable, at: Date): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  if (finest === 'Y') return new Date(Date.UTC(year, 0));
  return new Date(finest === 'm' ? Date.UTC(year, month) : Date.UTC(year, month, day));
}

function next(step: DateVariable, at: Date): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  switch (step) {
    case 'Y':
      return new Date(Date.UTC(year + 1, 0));
    case 'm':
      return new Date(Date.UTC(year, month + 1));
    case 'd':
      return new Date(Date.UTC(year, month, day + 1));
    case 'H':
      return new Date(at.getTime() + 3_600_000);
  }
}

const stepAt = (at: Date): DateStep => ({
  Y: String(at.getUTCFullYear()).padStart(4, '0'),
  m: two(at.getUTCMonth() + 1),
  d: two(at.getUTCDate()),
  H: two(at.getUTCHours()),
});
