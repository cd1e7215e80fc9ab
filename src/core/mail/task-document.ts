import type { TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { byUpdateOrder, type TaskHistory, type TaskHistoryUpdate } from '../model/task.js';
import {
  counted,
  duration,
  type Block,
  type MailDocument,
  type MailStyle,
  oneLine,
  type InlineText,
  requestLink,
  tailLink,
  taskLink,
} from './document.js';
import type { MailFacts } from './mail-types.js';

type TaskFacts = Extract<MailFacts, { kind: 'task-ended' | 'task-overdue' }>;

/** The end of one of its files; text undefined: it could not be read. */
export interface LogTail {
  file: string;
  text: string | undefined;
  /** It begins where the log has its first error. */
  isAtError: boolean;
}

export interface TaskMailInput {
  facts: TaskFacts;
  colour: string;
  request: Request;
  history: TaskHistory;
  tails: readonly LogTail[];
  admins: readonly string[];
}

const mostRows = 40;
const mostArguments = 40;

const words: Partial<Record<TaskState, string>> = {
  TASK_FINISHED: 'finished',
  TASK_FAILED: 'failed',
  TASK_KILLED: 'killed',
  TASK_LOST: 'lost',
  TASK_LOST_WHILE_DOWN: 'lost while the scheduler was down',
  TASK_ERROR: 'error',
  TASK_DROPPED: 'dropped',
  TASK_GONE: 'gone',
  TASK_GONE_BY_OPERATOR: 'gone',
  TASK_UNREACHABLE: 'unreachable',
};
const stateWord = (state: TaskState): string =>
  words[state] ?? state.toLowerCase().replace('task_', '').replaceAll('_', ' ');

export function taskDocument(input: TaskMailInput, style: MailStyle): MailDocument {
  const { facts, colour, history } = input;
  const { id, requestId } = history.task.taskId;
  const updates = history.taskUpdates.toSorted(byUpdateOrder);
  const hasRun = updates.some(({ taskState }) => taskState === 'TASK_RUNNING');
  const what = headline(facts, hasRun);
  return {
    subject: oneLine(`Task ${what}: ${id}`),
    title: oneLine(`${requestId}: task ${what}`),
    colour,
    blocks: [
      { kind: 'paragraph', pieces: sentence(input, what, style) },
      { kind: 'paragraph', pieces: [explanation(facts, updates, hasRun)] },
      ...(facts.kind === 'task-ended' ? [paragraph(whatFollows(input, facts, style))] : []),
      ...(hasRun || facts.kind === 'task-overdue' ? [] : adminsToAsk(input.admins)),
      { kind: 'facts', rows: placeRows(input, style) },
      ...historyTable(updates, style),
      ...input.tails.map((tail) => fileBlock(tail, id, style)),
      ...(input.tails.length === 0
        ? []
        : [paragraph(`More of them: muster logs ${oneLine(id)} and muster logs ${oneLine(id)} --stderr.`)]),
      ...notes(history, style),
    ],
  };
}

const paragraph = (...pieces: InlineText[]): Block => ({ kind: 'paragraph', pieces });

function headline(facts: TaskFacts, hasRun: boolean): string {
  if (facts.kind === 'task-overdue') return 'is late to finish';
  const word = stateWord(facts.state);
  return hasRun ? word : `did not start (${word})`;
}

function sentence({ history, facts }: TaskMailInput, what: string, style: MailStyle): InlineText[] {
  const { id, requestId } = history.task.taskId;
  const verb = facts.kind === 'task-ended' && !what.startsWith('did not') ? `: ${what}` : ` ${what}`;
  return [
    'Request ',
    { text: oneLine(requestId), href: requestLink(style, requestId), strong: true },
    ', task ',
    { text: oneLine(id), href: taskLink(style, id) },
    `${verb}.`,
  ];
}

const explanations: Partial<Record<TaskState, string>> = {
  TASK_FINISHED: 'Its process ended by itself with exit status 0.',
  TASK_FAILED:
    'Its process ended by itself with another exit status than 0, or could not be started. The message of its last status and the end of its log usually say why.',
  TASK_KILLED: 'Its process was told to end.',
  TASK_LOST:
    'Its machine does not know it any more, or went away with it. What it was doing may be half done; its files may be gone with the machine.',
};

function explanation(facts: TaskFacts, updates: readonly TaskHistoryUpdate[], hasRun: boolean): string {
  if (facts.kind === 'task-overdue') {
    const { runMillis, expectedMillis, thresholdPercent } = facts;
    return `It has run for ${duration(runMillis)}; about ${duration(expectedMillis)} were expected. Runs that take more than ${thresholdPercent} % of that are told, once each. It goes on running: if it hangs, kill it, else set scheduledExpectedRuntimeMillis of the request to what it needs.`;
  }
  const cleaning = updates.findLast(({ taskState }) => taskState === 'TASK_CLEANING')?.statusMessage;
  const plain = explanations[facts.state] ?? 'It is not known any more what became of it.';
  const never = hasRun
    ? ''
    : ' It never ran: look at its artifacts, its command, the user it runs as and the resources it asks for.';
  const why = cleaning && facts.state !== 'TASK_FINISHED' ? ` It had to go: ${oneLine(cleaning)}.` : '';
  return `${plain}${why}${never}`;
}

function whatFollows(
  { request }: TaskMailInput,
  facts: Extract<TaskFacts, { kind: 'task-ended' }>,
  style: MailStyle,
): string {
  const when = facts.retryAt === undefined ? 'now' : `at ${style.time(facts.retryAt)}`;
  switch (facts.next) {
    case 'retry':
      return facts.retriesLeft > 0
        ? `It is tried again ${when}; after that, ${counted(facts.retriesLeft, 'retry').replace('retrys', 'retries')} would be left.`
        : `It is tried again ${when}, for the last time.`;
    case 'relaunch':
      return 'The same run is started again.';
    case 'goOn':
      return request.requestType === 'SCHEDULED'
        ? 'The request runs again when its schedule says so.'
        : 'Another task takes its place.';
    case 'nothing':
      return 'Nothing is started in its place.';
  }
}

const adminsToAsk = (admins: readonly string[]): Block[] =>
  admins.length === 0
    ? []
    : [
        paragraph(
          `If that does not explain it, ask those who run the cluster: ${oneLine(admins.slice(0, 10).join(', '), 600)}.`,
        ),
      ];

function placeRows({ history, facts }: TaskMailInput, style: MailStyle): (readonly [string, ...InlineText[]])[] {
  const { task, directory } = history;
  const { id, requestId, deployId, host } = task.taskId;
  const { cmdLineArgsList: all, user, runId, message } = task.taskRequest.pendingTask;
  const shown = all?.slice(0, mostArguments).map((argument) => oneLine(argument, 200));
  const omitted = (all?.length ?? 0) - (shown?.length ?? 0);
  const overdue: (readonly [string, ...InlineText[]])[] =
    facts.kind === 'task-overdue'
      ? [
          ['Run time', duration(facts.runMillis)],
          ['Expected run time', duration(facts.expectedMillis)],
          ['Threshold', `${facts.thresholdPercent} %`],
        ]
      : [];
  const rows: (readonly [string, string | undefined, string?])[] = [
    ['Request', requestId, requestLink(style, requestId)],
    ['Deploy', deployId],
    ['Task', id, taskLink(style, id)],
    ['Host', (task.offers?.[0] ?? task.offer)?.hostname ?? host],
    ['Sandbox directory', directory],
    ['Run', runId],
    ['Started by', user],
    ['Message', message],
    [
      'Extra arguments',
      shown && shown.length > 0 ? shown.join(' ') + (omitted > 0 ? ` … (${omitted} more)` : '') : undefined,
    ],
  ];
  return [
    ...overdue,
    ...rows.flatMap(([name, text, href]) =>
      text === undefined || text === '' ? [] : [[name, { text: oneLine(text, 4_000), href }] as const],
    ),
  ];
}

function historyTable(updates: readonly TaskHistoryUpdate[], style: MailStyle): Block[] {
  const rows = updates
    .slice(-mostRows)
    .map(({ taskState, statusMessage, timestamp }) => [taskState, oneLine(statusMessage ?? ''), style.time(timestamp)]);
  return rows.length === 0
    ? []
    : [{ kind: 'table', title: 'What happened', head: ['Status', 'Message', 'Time'], rows }];
}

const fileBlock = ({ file, text, isAtError }: LogTail, taskId: string, style: MailStyle): Block => ({
  kind: 'file',
  name: oneLine(file),
  href: tailLink(style, taskId, file),
  text: text === '' ? undefined : text,
  note:
    text === undefined ? 'not available' : text === '' ? 'empty' : isAtError ? 'from the first error on' : 'its end',
});

function notes({ taskMetadata }: TaskHistory, style: MailStyle): Block[] {
  const rows = taskMetadata
    .slice(-mostRows)
    .map(({ level, type, timestamp, user, title, message }) => [
      level,
      oneLine(type, 100),
      style.time(timestamp),
      oneLine(user ?? '', 100),
      oneLine(title, 200),
      oneLine(message ?? '', 500),
    ]);
  const head = ['Level', 'Type', 'Time', 'User', 'Title', 'Message'];
  return rows.length === 0 ? [] : [{ kind: 'table', title: 'Notes', head, rows }];
}
