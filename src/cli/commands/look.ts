import { type Define, examples } from '../run.js';
import { type Session, remote } from '../remote/session.js';
import { stateCell } from '../output/output.js';
import { age, knownWord, shownDuration, shownState, shownTime } from '../words.js';
import type {
  FailedInstance,
  NotableProgram,
  PendingTaskId,
  RequestParent,
  TaskExplanation,
  TaskIdHistory,
} from 'muster-client';
import { history, isRequest } from './history.js';
import { lastLines } from './last-lines.js';
import { events } from './events.js';

export const look: Record<string, Define> = { requests, ps, explain, history, events };

interface RequestFlags {
  state?: string;
  type?: string;
  quiet?: boolean;
}

function requests(...[command, run]: Parameters<Define>): void {
  command
    .argument('[pattern]', 'part of an id, or a pattern with * for any characters')
    .option('--state <state>', 'only requests in this state: active, paused, system_cooldown, finished, ...')
    .option('--type <type>', 'only requests of this type: service, worker, scheduled, on_demand, run_once')
    .option('-q, --quiet', 'print ids only');
  examples(command, 'muster requests', 'muster requests "web*" --state active', 'muster requests --json');
  remote<RequestFlags, [string?]>(command, run, async ({ api, out }, flags, pattern) => {
    const wantedState = await knownWord('--state', flags.state, 'RequestState');
    const wantedType = await knownWord('--type', flags.type, 'RequestType');
    const all = (await api.requests.list({}))
      .filter(
        ({ request, state }) =>
          matches(request.id, pattern) &&
          (wantedState === undefined || state === wantedState) &&
          (wantedType === undefined || request.requestType === wantedType),
      )
      .sort((a, b) => (a.request.id < b.request.id ? -1 : 1));
    await out.answer(all, () => {
      if (flags.quiet) return void all.forEach(({ request }) => out.line(request.id));
      return out.table(['REQUEST', 'TYPE', 'STATE', 'INSTANCES', 'DEPLOY', 'DEPLOYING'], all.map(rowOf));
    });
  });
}

function rowOf({ request, state, requestDeployState: deploys }: RequestParent) {
  const isLong = request.requestType === 'SERVICE' || request.requestType === 'WORKER';
  return [
    request.id,
    request.requestType,
    stateCell(state),
    request.instances ?? (isLong ? 1 : ''),
    deploys?.activeDeploy?.deployId,
    deploys?.pendingDeploy?.deployId,
  ];
}

/** As people write it: a part of the id, or the whole with stars. */
export function matches(id: string, pattern: string | undefined): boolean {
  if (pattern === undefined) return true;
  if (!pattern.includes('*')) return id.toLowerCase().includes(pattern.toLowerCase());
  const parts = pattern
    .toLowerCase()
    .split('*')
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(id.toLowerCase());
}

interface Waiting {
  pendingTaskId: PendingTaskId;
}
interface PsFlags {
  quiet?: boolean;
  waiting?: boolean;
}

function ps(...[command, run]: Parameters<Define>): void {
  command
    .argument('[request]', 'only tasks of this request')
    .option('-q, --quiet', 'print ids of running tasks only')
    .option('--no-waiting', 'leave out waiting tasks');
  examples(command, 'muster ps', 'muster ps web', 'muster ps web --quiet', 'muster ps web --json');
  remote<PsFlags, [string?]>(command, run, async ({ api, out }, { quiet, waiting: withWaiting }, requestId) => {
    const [active, waiting] = await Promise.all([
      activeTasks(api, requestId),
      quiet || !withWaiting ? [] : waitingTasks(api, requestId),
    ]);
    await out.answer({ active, waiting }, () => {
      if (quiet) return active.forEach(({ taskId }) => out.line(taskId.id));
      return out.table(
        ['TASK', 'STATE', 'AGE', 'HOST', 'RUN'],
        [
          ...active.map(({ taskId, lastTaskState, runId }) => [
            taskId.id,
            stateCell(shownState(lastTaskState)),
            age(taskId.startedAt),
            taskId.host,
            runId,
          ]),
          ...waiting.map(({ pendingTaskId: { id, nextRunAt } }) => [id, stateCell('WAITS'), due(nextRunAt), '', '']),
        ],
      );
    });
  });
}

const due = (at: number): string => (at > Date.now() ? `in ${shownDuration(at - Date.now())}` : 'due');

async function activeTasks(api: Session['api'], requestId: string | undefined): Promise<TaskIdHistory[]> {
  if (requestId !== undefined) {
    // One that is not there has no tasks; who asks for its tasks has to hear that.
    const [, tasks] = await Promise.all([
      api.requests.simple({ requestId }),
      api.history.activeTasksOfRequest({ requestId }),
    ]);
    return tasks.sort((a, b) => a.taskId.instanceNo - b.taskId.instanceNo);
  }
  const [ids, states] = await Promise.all([api.tasks.activeIds({}), api.tasks.activeStates({})]);
  return ids
    .map((taskId) => {
      const last = states[taskId.id]?.at(-1);
      return { taskId, updatedAt: last?.timestamp ?? taskId.startedAt, ...(last && { lastTaskState: last.taskState }) };
    })
    .sort((a, b) => (a.taskId.id < b.taskId.id ? -1 : 1));
}

async function waitingTasks(api: Session['api'], requestId: string | undefined): Promise<Waiting[]> {
  const ids =
    requestId === undefined ? await api.tasks.scheduledIds({}) : (await api.tasks.idsOfRequest({ requestId })).pending;
  return ids
    .map((pendingTaskId) => ({ pendingTaskId }))
    .sort((a, b) => a.pendingTaskId.nextRunAt - b.pendingTaskId.nextRunAt);
}

function explain(...[command, run]: Parameters<Define>): void {
  command.argument('<request>', 'id of a request or of a waiting task');
  examples(command, 'muster explain web', 'muster explain web --json');
  remote<object, [string]>(command, run, async (session, _flags, id) => {
    const { api, out } = session;
    if (looksLikeWaitingTask(id) && !(await isRequest(api, id))) {
      const task = await api.tasks.explain({ pendingTaskId: id });
      return out.answer(task, () => tell(out, task));
    }
    const about = await api.requests.explain({ requestId: id });
    await out.answer(about, async () => {
      out.line(`${about.requestId} is ${about.state}, with ${wholeTasks(about.activeTasks)} active`);
      if (about.message !== undefined) out.text(about.message);
      for (const { local, timeZone } of about.nextRuns ?? []) out.line(`next run: ${local} (${timeZone})`);
      for (const { pendingType, deployId, message } of about.queued)
        out.text(`queued: ${pendingType} of ${deployId}: ${message}`);
      if (about.autoscale) out.text(about.autoscale.message);
      if (about.closedDeployWindows) out.text(about.closedDeployWindows.message);
      if (about.waitingGate) out.text(`deploy ${about.waitingGate.deployId}: ${about.waitingGate.message}`);
      for (const task of about.pendingTasks) tell(out, task);
      for (const taskId of about.heldBy ?? []) out.text(`held by ${taskId}`);
      for (const { taskId, message } of about.unansweredLaunches ?? []) out.text(`${taskId.id}: ${message}`);
      for (const { taskId, state, since, message } of about.startingTasks ?? [])
        out.text(`${taskId.id}: ${state} for ${shownDuration(Date.now() - since)}: ${message}`);
      for (const { taskId, message } of about.unhealthyTasks ?? []) out.text(`unhealthy: ${taskId.id}: ${message}`);
      for (const program of about.programs ?? []) out.text(notableProgram(program));
      for (const instance of about.failedInstances ?? []) out.text(failedInstance(instance));
      const flowRuns = about.waitingFlowRuns ?? 0;
      if (flowRuns > 0) out.line(`${flowRuns} ${flowRuns === 1 ? 'run of a flow waits' : 'runs of flows wait'} for it`);
      if (about.pendingTasks.length + about.queued.length + flowRuns === 0) out.line('No task of it waits.');
      const failed = about.failedDeploy;
      if (!failed) return;
      out.text(
        `deploy ${failed.deployId} ended as ${failed.deployState}${failed.message ? `: ${failed.message}` : ''}`,
      );
      const lines = failed.taskId ? await lastLines(session, failed.taskId.id) : [];
      for (const line of lines.length > 0 ? lines : [`  ${failed.lookAtFirst}`]) out.line(line);
    });
  });
}

const programWords = { INIT: 'init step', SIDECAR: 'sidecar', POST: 'post step' } as const;

function notableProgram({ taskId, role, name, state, message, timestamp }: NotableProgram): string {
  const what = state === 'RUNNING' ? `runs since ${shownTime(timestamp)}` : `failed: ${message ?? 'no message'}`;
  return `${programWords[role]} ${name} of ${taskId.id} ${what}`;
}

function failedInstance({ instanceNo, failures, nextStartAt, givenUp }: FailedInstance): string {
  const then = givenUp ? 'stays down until a deploy, a bounce or an unpause' : 'may start at once';
  const start = nextStartAt === undefined ? then : `may start again at ${shownTime(nextStartAt)}`;
  return `instance ${instanceNo} failed ${failures} times in a row: it ${start}`;
}

/** requestId-deployId-nextRunAt-instanceNo-pendingType-createdAt; a request may be called so, too. */
const looksLikeWaitingTask = (id: string): boolean => /-\d+-[A-Z_]+-\d+$/.test(id);

const wholeTasks = (count: number): string => `${count} ${count === 1 ? 'task' : 'tasks'}`;

function tell(out: Session['out'], { pendingTaskId, reason, message, rejections, heldBy }: TaskExplanation): void {
  out.text(`${pendingTaskId.id}: ${reason}: ${message}`);
  for (const { reason: why, slaves } of rejections)
    out.text(`  ${slaves} ${slaves === 1 ? 'machine' : 'machines'}: ${why}`);
  for (const taskId of heldBy ?? []) out.text(`  held by ${taskId}`);
}
