import type { EmailDestination, EmailType, TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { Disaster, DisasterDataPoint } from '../model/state.js';
import { isMailAddress, mostRecipients, type Audience } from './recipients.js';

const red = '#D9534F';
const grey = '#777777';
const green = '#5CB85C';
const blue = '#5BC0DE';

/** Colour of the head of each type of mail, and its recipients unless settings or the request say otherwise. */
export const mailTypes: Readonly<Record<EmailType, { colour: string; destinations: readonly EmailDestination[] }>> = {
  TASK_LOST: { colour: red, destinations: ['ADMINS', 'ACTION_TAKER'] },
  TASK_KILLED: { colour: grey, destinations: [] },
  TASK_FINISHED_SCHEDULED: { colour: green, destinations: [] },
  TASK_FINISHED_LONG_RUNNING: { colour: green, destinations: ['OWNERS', 'ADMINS'] },
  TASK_FINISHED_ON_DEMAND: { colour: green, destinations: ['OWNERS', 'ACTION_TAKER'] },
  TASK_FINISHED_RUN_ONCE: { colour: green, destinations: [] },
  TASK_FAILED: { colour: red, destinations: ['ADMINS', 'OWNERS', 'ACTION_TAKER'] },
  TASK_SCHEDULED_OVERDUE_TO_FINISH: { colour: red, destinations: ['OWNERS', 'ADMINS'] },
  TASK_KILLED_DECOMISSIONED: { colour: grey, destinations: [] },
  TASK_KILLED_UNHEALTHY: { colour: red, destinations: ['OWNERS', 'ADMINS'] },
  TASK_FAILED_DECOMISSIONED: { colour: red, destinations: [] },
  REQUEST_IN_COOLDOWN: { colour: red, destinations: ['ADMINS', 'OWNERS'] },
  // Known to settings and overrides; nothing causes it.
  REPLACEMENT_TASKS_FAILING: { colour: red, destinations: ['OWNERS'] },
  SCHEDULER_ABORTING: { colour: red, destinations: ['ADMINS'] },
  REQUEST_REMOVED: { colour: grey, destinations: ['OWNERS', 'ADMINS'] },
  REQUEST_PAUSED: { colour: blue, destinations: ['OWNERS', 'ADMINS'] },
  REQUEST_UNPAUSED: { colour: blue, destinations: ['OWNERS', 'ADMINS'] },
  REQUEST_SCALED: { colour: blue, destinations: ['OWNERS'] },
  DISASTER_DETECTED: { colour: red, destinations: ['ADMINS'] },
};

/** About the service itself: no request, no limit of the rate, no blacklist, and no switch that stops it. */
export const isSystemMail = (type: EmailType): boolean => type === 'SCHEDULER_ABORTING' || type === 'DISASTER_DETECTED';

/** Consequence for a request when one of its tasks has ended. */
export type AfterTask = 'nothing' | 'relaunch' | 'retry' | 'goOn';

/** Facts that a mail reports, as they were at the event. The records of tasks are read when the mail is written. */
export type MailFacts =
  | { kind: 'task-ended'; state: TaskState; next: AfterTask; retriesLeft: number; retryAt?: number }
  | { kind: 'task-overdue'; runMillis: number; expectedMillis: number; thresholdPercent: number }
  | { kind: 'paused'; message?: string; killTasks: boolean; until?: number }
  | { kind: 'unpaused'; message?: string }
  | { kind: 'scaled'; message?: string; from: number; to: number; until?: number; lapsed?: boolean }
  | { kind: 'removed'; message?: string }
  | { kind: 'cooldown'; failures: number; windowMillis: number; delayMillis: number }
  | { kind: 'disaster'; disasters: Disaster[]; points: DisasterDataPoint[] }
  | { kind: 'aborting'; host: string; reason: string; stack?: string };

/** Something that happened and that may be told by mail. */
export interface MailEvent {
  type: EmailType;
  /** Request whose owners are notified, and which may choose its own recipients. Absent for system mails. */
  request?: Request;
  taskId?: string;
  /** User who did it. */
  user?: string;
  /** Epoch milliseconds. */
  at: number;
  facts: MailFacts;
}

/** Configured recipients of each type of mail. */
export type DestinationSettings = Partial<Record<EmailType, readonly EmailDestination[]>>;

/** Settings go before the defaults, and what a request says goes before both. Nothing: none is sent. */
export function audienceOf(
  { type, request }: Pick<MailEvent, 'type' | 'request'>,
  configured: DestinationSettings,
): Audience | undefined {
  const own = isSystemMail(type) ? undefined : request?.emailConfigurationOverrides?.[type];
  const destinations = own ?? configured[type] ?? mailTypes[type].destinations;
  if (destinations.length === 0) return undefined;
  // Twice as many as can get it, because some may want none.
  const owners = (request?.owners ?? []).map((owner) => owner.trim()).filter(isMailAddress);
  return { destinations: [...destinations], owners: owners.slice(0, 2 * mostRecipients) };
}
