import { sanitize } from '../task-id.js';
import { patternParts, type KeyVariable, type PatternPart } from './key-pattern.js';
import { stepsOf, type DateVariable, type Span } from './date-steps.js';

/** Whose logs are looked for: those of a request, of one of its deploys or of one task. */
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

/** How keys begin. */
export interface KeyPrefix {
  prefix: string;
  /** Where the id of a task stands in such keys, if the prefix ends within it. */
  taskIdAt?: number;
}

/** isOwner: it tells whose logs they are. */
type Filled = { text: string; isOwner?: boolean } | { date: DateVariable };

/**
 * How the keys begin of all that the subject has written within the span, the newest first. undefined: the span is too
 * long for this pattern, which has the date before the owner.
 */
export function keyPrefixes(pattern: string, subject: LogSubject, span: Span): KeyPrefix[] | undefined {
  const { parts, withinTaskId } = fill(patternParts(pattern), subject);
  const dates = parts.flatMap((part) => ('date' in part ? [part.date] : []));
  const steps = stepsOf(dates, span);
  // A part of the date that no step tells ends what is known.
  const end = parts.findIndex((part) => 'date' in part && !steps.told.includes(part.date));
  const known = end === -1 ? parts : parts.slice(0, end);
  // Cut before the owner it would find the logs of everybody.
  if (end !== -1 && !known.some((part) => 'text' in part && part.isOwner)) return undefined;
  const start = withinTaskId && end === -1 ? ownIdBegins(subject.owner) : undefined;
  const prefixes = new Map<string, KeyPrefix>();
  for (const step of steps.dates) {
    const prefix = known.map((part) => ('text' in part ? part.text : step[part.date])).join('');
    if (start === undefined) prefixes.set(prefix, { prefix });
    else prefixes.set(prefix + start, { prefix: prefix + start, taskIdAt: prefix.length });
  }
  return [...prefixes.values()];
}

/** Puts in what is known of the subject and stops at the first thing that is not. */
function fill(parts: readonly PatternPart[], subject: LogSubject): { parts: Filled[]; withinTaskId: boolean } {
  const filled: Filled[] = [];
  for (const part of parts) {
    if ('text' in part) {
      filled.push(part);
      continue;
    }
    if (part.variable === 'taskId' && !subject.owner.task) return { parts: filled, withinTaskId: true };
    const value = fillIn(part.variable, subject);
    if (value === undefined) break;
    filled.push(value);
  }
  return { parts: filled, withinTaskId: false };
}

function fillIn(variable: KeyVariable, { owner, group, tag }: LogSubject): Filled | undefined {
  const text = (value: string | undefined): Filled | undefined => (value === undefined ? undefined : { text: value });
  switch (variable) {
    case 'requestId':
      return { text: owner.requestId, isOwner: true };
    case 'group':
      return text(group);
    // Of the deploys of a request each has its own.
    case 'tag':
      return text(owner.deployId === undefined ? undefined : tag);
    case 'deployId':
      return text(owner.deployId);
    case 'host':
      return text(owner.task && sanitize(owner.task.host));
    case 'taskId':
      return owner.task && { text: owner.task.id, isOwner: true };
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

/** After the ids of request and deploy: start time, instance. */
const idOfTask = /^([^-]+)-\d{13}-\d{1,9}-/;

/** Whether a key below the prefix is the owner's. Ids contain '-', so 'web-' also begins those of the request 'web-api'. */
export function isOwn(key: string, { taskIdAt }: KeyPrefix, { requestId, deployId }: LogOwner): boolean {
  if (taskIdAt === undefined) return true;
  const found = idOfTask.exec(key.slice(taskIdAt + requestId.length + 1));
  return found !== null && (deployId === undefined || found[1] === deployId);
}
