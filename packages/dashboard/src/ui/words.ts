/** How good or bad a state is: it decides colour and shape, never alone what is said. */
export type Tone = 'good' | 'busy' | 'bad' | 'warn' | 'off' | 'unknown';

export interface Word {
  readonly text: string;
  readonly tone: Tone;
}

const word = (text: string, tone: Tone): Word => ({ text, tone });

const requestStates: Readonly<Record<string, Word>> = {
  ACTIVE: word('Active', 'good'),
  PAUSED: word('Paused', 'off'),
  SYSTEM_COOLDOWN: word('Cooling down', 'bad'),
  FINISHED: word('Finished', 'off'),
  DEPLOYING_TO_UNPAUSE: word('Deploying to unpause', 'busy'),
  DELETING: word('Being removed', 'busy'),
  DELETED: word('Removed', 'off'),
};

const taskStates: Readonly<Record<string, Word>> = {
  TASK_LAUNCHED: word('Launched', 'busy'),
  TASK_STAGING: word('Staging', 'busy'),
  TASK_STARTING: word('Starting', 'busy'),
  TASK_RUNNING: word('Running', 'good'),
  TASK_CLEANING: word('Being replaced', 'busy'),
  TASK_KILLING: word('Being stopped', 'busy'),
  TASK_FINISHED: word('Finished', 'good'),
  TASK_FAILED: word('Failed', 'bad'),
  TASK_ERROR: word('Error', 'bad'),
  TASK_KILLED: word('Killed', 'off'),
  TASK_LOST: word('Lost', 'bad'),
  TASK_LOST_WHILE_DOWN: word('Lost while down', 'bad'),
  TASK_DROPPED: word('Dropped', 'bad'),
  TASK_GONE: word('Gone', 'bad'),
  TASK_GONE_BY_OPERATOR: word('Gone by operator', 'off'),
  TASK_UNREACHABLE: word('Unreachable', 'warn'),
};

const deployStates: Readonly<Record<string, Word>> = {
  WAITING: word('In progress', 'busy'),
  SUCCEEDED: word('Succeeded', 'good'),
  FAILED: word('Failed', 'bad'),
  FAILED_INTERNAL_STATE: word('Failed inside', 'bad'),
  OVERDUE: word('Overdue', 'bad'),
  CANCELED: word('Canceled', 'off'),
  CANCELING: word('Being canceled', 'busy'),
};

const machineStates: Readonly<Record<string, Word>> = {
  ACTIVE: word('Active', 'good'),
  FROZEN: word('Frozen', 'off'),
  STARTING_DECOMMISSION: word('Starting decommission', 'busy'),
  DECOMMISSIONING: word('Decommissioning', 'busy'),
  DECOMMISSIONED: word('Decommissioned', 'off'),
  DEAD: word('Dead', 'bad'),
  MISSING_ON_STARTUP: word('Missing on startup', 'warn'),
};

const flowRunStates: Readonly<Record<string, Word>> = {
  WAITING: word('Waiting', 'unknown'),
  ACTIVE: word('Active', 'busy'),
  SUCCESS: word('Succeeded', 'good'),
  FAILURE: word('Failed', 'bad'),
  DROPPED: word('Dropped', 'off'),
};

const backfillTimeStates: Readonly<Record<string, Word>> = {
  WAITING: word('Waiting', 'unknown'),
  QUEUED: word('Waiting or active', 'busy'),
  SUCCEEDED: word('Succeeded', 'good'),
  FAILED: word('Failed', 'bad'),
  CANCELED: word('Canceled', 'off'),
};

const gateStates: Readonly<Record<string, Word>> = {
  WAITING: word('Waiting', 'busy'),
  PAUSED: word('Needs an answer', 'warn'),
  PASSED: word('Passed', 'good'),
  FAILED: word('Failed', 'bad'),
  CANCELED: word('Canceled', 'off'),
};

export const tables = {
  request: requestStates,
  task: taskStates,
  deploy: deployStates,
  gate: gateStates,
  machine: machineStates,
  'run of a flow': flowRunStates,
  'time of a backfill': backfillTimeStates,
} as const;

/** A word that is not known is shown as it came. */
export const wordOf = (table: keyof typeof tables, state: string | undefined): Word =>
  state === undefined ? word('–', 'unknown') : (tables[table][state] ?? word(inWords(state), 'unknown'));

/** "1 task", "2 tasks": of nouns whose plural has an s. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The API says slave where people say machine. */
export const ofMachines = (text: string): string => text.replaceAll(/\bslave(s?)\b/gi, 'machine$1');

/** USER_REQUESTED as "user requested". One name of the API has lost a letter: DECOMISSIONED_SLAVE_OR_RACK. */
export const inWords = (name: string): string =>
  ofMachines(name.toLowerCase().replaceAll('_', ' ')).replace('decomission', 'decommission');

export const requestTypes: Readonly<Record<string, string>> = {
  SERVICE: 'Service',
  WORKER: 'Worker',
  SCHEDULED: 'Scheduled',
  ON_DEMAND: 'On demand',
  RUN_ONCE: 'Run once',
};

export const isLongRunning = (type: string): boolean => type === 'SERVICE' || type === 'WORKER';

export interface TaskEnd {
  readonly taskState: string;
  readonly statusMessage?: string | undefined;
  readonly statusReason?: string | undefined;
}

/** In one sentence why a task is in its state. */
export function whyTask({ taskState, statusMessage, statusReason }: TaskEnd): string {
  const reason = statusReason === undefined ? '' : inWords(statusReason.replace(/^REASON_/, ''));
  // The message of a launch names its cause, and who asked for it: "NEW_DEPLOY by ada".
  const message = (statusMessage ?? '').replace(/^[A-Z]+(_[A-Z]+)+(?= by |$)|^[A-Z]+(?= by )/, inWords);
  const parts = [message, reason].filter((part) => part !== '');
  return parts.length === 0 ? wordOf('task', taskState).text : parts.join(' · ');
}
