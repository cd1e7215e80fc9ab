import { setTimeout as delay } from 'node:timers/promises';
import type { DeployHistory, RequestParent, TaskExplanation, TaskIdHistory } from 'muster-client';
import { CliError, type Outcome } from '../exit-codes.js';
import { stateCell } from '../output/output.js';
import { writeError } from '../output/streams.js';
import { plain, terminalText } from '../../core/terminal-text.js';
import type { Session } from '../remote/session.js';
import { durationMillis, shownDuration, shownState } from '../words.js';
import { lastLines } from './last-lines.js';

interface DeployKey {
  requestId: string;
  deployId: string;
}

const lookEveryMillis = 300;

/** Interval at which the reason is asked for which a task waits. */
const explainEveryMillis = 1_000;

/**
 * Waits until a deploy has ended and tells how each of its instances is doing, and why it waits: drawn over and over on a terminal, a
 * line for each change in a pipe. A deploy that no machine is great enough for is not waited for.
 */
export async function awaitDeploy(
  session: Session,
  key: DeployKey,
  longest = '1h',
): Promise<{ outcome: Outcome; history: DeployHistory }> {
  const { api } = session;
  const begin = performance.now();
  const longestMillis = durationMillis('--wait-for', longest);
  const view = await viewFor(session);
  const waits = new Waits(session, key);
  try {
    for (;;) {
      // Looked at before its tasks: what is told of a deploy that has ended is then all of it.
      const history = await api.history.deploy(key);
      const [parent, tasks] = await Promise.all([
        api.requests.get({ requestId: key.requestId }),
        api.history.activeTasksOfDeploy(key),
      ]);
      const why = history.deployResult ? undefined : await waits.why(parent);
      const lines = linesOf(key, parent, tasks, performance.now() - begin, why?.message);
      view.show([...lines, ...gateLines(history)]);
      if (history.deployResult) {
        view.close();
        return await end(session, key, history);
      }
      if (why?.neverFits) {
        throw new CliError(
          'timeout',
          `${key.requestId}: ${key.deployId} needs a larger machine than there is; the deploy goes on. ${why.message}`,
        );
      }
      if (performance.now() - begin > longestMillis) {
        throw new CliError(
          'timeout',
          `${key.requestId}: ${key.deployId} has not ended after ${longest}; the deploy goes on`,
        );
      }
      await delay(lookEveryMillis);
    }
  } finally {
    view.close();
  }
}

/** Gates of the newest step; a person may have to answer one of them. */
function gateLines({ gates = [] }: DeployHistory): Line[] {
  const newest = gates.at(-1)?.step;
  return gates
    .filter(({ step }) => step === newest)
    .map(({ step, gate, type, state, message }) => ({
      name: `gate ${gate} of step ${step}`,
      state,
      detail: message === undefined ? type : `${type}: ${message}`,
    }));
}

type Why = Pick<TaskExplanation, 'message' | 'neverFits'>;

/** The reason for which the tasks of a deploy wait that have no machine. */
class Waits {
  private told: Why | undefined;
  private askedAt = -Infinity;

  constructor(
    private readonly session: Session,
    private readonly key: DeployKey,
  ) {}

  async why({ taskIds }: RequestParent): Promise<Why | undefined> {
    const waiting = taskIds?.pending.find(({ deployId }) => deployId === this.key.deployId);
    if (!waiting) return undefined;
    if (performance.now() - this.askedAt < explainEveryMillis) return this.told;
    this.askedAt = performance.now();
    // It may have a machine by now.
    const found = await this.session.api.tasks.explain({ pendingTaskId: waiting.id }).catch(() => undefined);
    this.told = found?.reason === 'PLACEABLE' ? undefined : found;
    return this.told;
  }
}

/** State of a deploy that is no longer in progress: its result follows. */
const over = 'ended';

interface Line {
  /** Subject of the line; a pipe gets a line when the other members change. */
  name: string;
  state: string;
  detail?: string;
}

function linesOf(
  key: DeployKey,
  parent: RequestParent,
  tasks: readonly TaskIdHistory[],
  millis: number,
  why = 'for a machine',
): Line[] {
  const healthy = new Set(parent.taskIds?.healthy.map(({ id }) => id));
  const instances = tasks
    .slice()
    .sort((a, b) => a.taskId.instanceNo - b.taskId.instanceNo)
    .map(({ taskId, lastTaskState }) => ({
      name: `instance ${taskId.instanceNo}`,
      state: healthy.has(taskId.id) ? 'HEALTHY' : shownState(lastTaskState),
      detail: taskId.id,
    }));
  const waiting = (parent.taskIds?.pending ?? [])
    .filter(({ deployId }) => deployId === key.deployId)
    .map(({ instanceNo }) => ({ name: `instance ${instanceNo}`, state: 'WAITS', detail: why }));
  const isPending = parent.pendingDeployState?.deployMarker.deployId === key.deployId;
  const progress = isPending ? parent.pendingDeployState?.deployProgress : undefined;
  const healthyNow = instances.filter(({ state }) => state === 'HEALTHY').length;
  const { instances: all = 1 } = parent.pendingDeployState?.updatedRequest ?? parent.request;
  // A step of a service has a lower target than the deploy as a whole.
  const isLong = parent.request.requestType === 'SERVICE' || parent.request.requestType === 'WORKER';
  const target = isLong ? all : progress?.targetActiveInstances;
  const state = progress ? `${healthyNow} of ${target} healthy` : isPending ? 'starting' : over;
  return [{ name: `${key.requestId} ${key.deployId}`, state, detail: shownDuration(millis) }, ...instances, ...waiting];
}

interface View {
  show(lines: readonly Line[]): void;
  close(): void;
}

async function viewFor({ out }: Session): Promise<View> {
  if (out.isJson) return { show: () => undefined, close: () => undefined };
  // Some terminals do not say how great they are, and nothing can be drawn over on those.
  if (out.isTerminal && process.stdout.columns > 0 && process.stdout.rows > 0) {
    const { createLogUpdate } = await import('log-update');
    const draw = createLogUpdate(process.stdout);
    const styleOf = (state: string) => (state === 'HEALTHY' ? 'green' : stateCell(state).style);
    const shown = ({ name, state, detail = '' }: Line) =>
      `${plain(name).padEnd(14)} ${out.paint(styleOf(state), state.padEnd(10))} ${out.paint('dim', plain(detail))}`;
    return {
      show: ([head, ...lines]) =>
        draw(terminalText([`${plain(head!.name)}: ${head!.state} (${head!.detail})`, ...lines.map(shown)].join('\n'))),
      close: () => draw.done(),
    };
  }
  const told = new Map<string, string>();
  return {
    show: ([head, ...instances]) => {
      // The deploy comes after its instances, whose changes explain its own.
      for (const { name, state, detail } of [...instances, ...(head!.state === over ? [] : [head!])]) {
        // The time that a deploy takes changes always, which is no news.
        const news = name === head!.name ? state : `${state} ${detail ?? ''}`.trim();
        if (told.get(name) !== news) out.text(`${name}: ${news}`);
        told.set(name, news);
      }
    },
    close: () => undefined,
  };
}

/** Tasks whose last lines are shown: those of one deploy mostly die of the same. */
const shownTasks = 2;

async function end(session: Session, { requestId, deployId }: DeployKey, history: DeployHistory) {
  const { out } = session;
  const { deployState, message, deployFailures } = history.deployResult!;
  const isGood = deployState === 'SUCCEEDED';
  if (!out.isJson) {
    out.line(`${plain(`${requestId} ${deployId}`)}: ${out.paint(isGood ? 'green' : 'red', deployState)}`);
    if (!isGood) {
      for (const [index, { reason, taskId, message: text }] of deployFailures.entries()) {
        out.text(`  ${reason}${taskId ? ` of ${taskId.id}` : ''}${text ? `: ${text}` : ''}`);
        if (taskId && index < shownTasks) for (const line of await lastLines(session, taskId.id)) out.line(`  ${line}`);
      }
      writeError(
        `muster: ${plain(`${requestId}: ${deployId} ended as ${deployState}${message ? `: ${message}` : ''}`)}\n`,
      );
    }
  }
  return { outcome: (isGood ? 'done' : 'badEnd') as Outcome, history };
}
