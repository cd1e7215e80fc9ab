import { setTimeout as delay } from 'node:timers/promises';
import type { Request } from 'muster-client';
import { inOrder } from '../../core/in-order.js';
import { forEach } from '../each.js';
import { CliError } from '../exit-codes.js';
import { isRefusal } from '../remote/refusal.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { durationMillis, wholeNumber } from '../words.js';
import { isTask } from './history.js';

const lookEveryMillis = 300;

/** Commands that change existing requests and tasks. */
export const change: Record<string, Define> = { scale, bounce, pause, unpause, kill, remove };

interface Flags {
  message?: string;
  for?: string;
  skipHealthchecks?: boolean;
}

/** The members of a body that all of these commands take. */
const bodyOf = (flags: Flags) => ({
  ...(flags.message !== undefined && { message: flags.message }),
  ...(flags.for !== undefined && { durationMillis: durationMillis('--for', flags.for) }),
  ...(flags.skipHealthchecks && { skipHealthchecks: true }),
});

const message = ['-m, --message <text>', 'reason, kept in the history'] as const;
const lapse = ['--for <time>', 'revert after this time, such as 30m'] as const;
const skip = ['--skip-healthchecks', 'treat tasks that start from now on as healthy'] as const;

interface ScaleFlags extends Flags {
  plan?: boolean;
  acknowledge?: boolean;
  checkIndex?: string;
}

function scale(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request>')
    .argument('<instances>')
    .option(...message)
    .option(...lapse)
    .option(...skip)
    .option('--acknowledge', 'confirm a large scale-down')
    .option('--check-index <index>', 'index that muster plan printed: refuse if the request has changed since');
  examples(
    command,
    'muster plan web --instances 4',
    'muster scale web 4 -m "more visitors"',
    'muster scale web 3 --for 2h',
  );
  remote<ScaleFlags, [string, string]>(command, run, async ({ api, out }, flags, requestId, text) => {
    if (text === '0')
      throw new CliError('usage', `<instances> must be at least 1; muster pause ${requestId} ends all tasks`);
    const instances = wholeNumber('<instances>', text, 1);
    const changed = await api.requests.scale({
      requestId,
      ...(flags.acknowledge && { largeScaleDownAcknowledged: true }),
      ...(flags.checkIndex !== undefined && { checkIndex: flags.checkIndex }),
      body: { instances, ...bodyOf(flags) },
    });
    await out.answer(changed, () => `${requestId} has ${instances} ${instances === 1 ? 'instance' : 'instances'} now`);
  });
}

function bounce(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request>')
    .option(...message)
    .option('--for <time>', 'give up if not finished after this time')
    .option(...skip)
    .option('--incremental', 'replace one task after the other');
  examples(command, 'muster bounce web --incremental -m "new certificates"');
  remote<Flags & { incremental?: boolean }, [string]>(command, run, async ({ api, out }, flags, requestId) => {
    const body = { ...bodyOf(flags), ...(flags.incremental && { incremental: true }) };
    await out.answer(await api.requests.bounce({ requestId, body }), () => `${requestId} is being bounced`);
  });
}

function pause(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request>')
    .option(...message)
    .option(...lapse)
    .option('--leave-tasks', 'let running tasks end by themselves');
  examples(command, 'muster pause report --for 1h -m "the database is moved"');
  remote<Flags & { leaveTasks?: boolean }, [string]>(command, run, async ({ api, out }, flags, requestId) => {
    const body = { ...bodyOf(flags), ...(flags.leaveTasks && { killTasks: false }) };
    await out.answer(await api.requests.pause({ requestId, body }), () => `${requestId} is paused`);
  });
}

function unpause(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request>')
    .option(...message)
    .option(...skip);
  examples(command, 'muster unpause report');
  remote<Flags, [string]>(command, run, async ({ api, out }, flags, requestId) => {
    await out.answer(await api.requests.unpause({ requestId, body: bodyOf(flags) }), () => `${requestId} is resumed`);
  });
}

interface KillFlags extends Flags {
  instance?: string;
  now?: boolean;
  waitForReplacement?: boolean;
}

function kill(...[command, run]: Parameters<Define>): void {
  command
    .argument('<task>', 'id of the task; or of a request, with --instance')
    .option('--instance <number>', 'number of the instance of the request')
    .option(...message)
    .option('--now', 'kill at once, whatever was ordered before')
    .option('--wait-for-replacement', 'kill once a replacement is healthy');
  examples(command, 'muster kill web --instance 2', 'muster kill $(muster ps web -q | head -n 1) -m "hangs"');
  remote<KillFlags, [string]>(command, run, async ({ api, out }, flags, id) => {
    const taskId = await taskOf(api, id, flags.instance);
    const body = {
      ...bodyOf(flags),
      ...(flags.now && { override: true }),
      ...(flags.waitForReplacement && { waitForReplacementTask: true }),
    };
    await out.answer(await api.tasks.kill({ taskId, body }), () => `${taskId} is being killed`);
  });
}

/** A task is named by its id, or by its request where that has one alone, or by the number of the instance. */
export async function taskOf(api: Session['api'], id: string, instance: string | undefined): Promise<string> {
  if (await isTask(api, id)) return id;
  // Answers 404 for one that is not there, where a list of its tasks is empty.
  const [, tasks] = await Promise.all([
    api.requests.simple({ requestId: id }),
    api.history.activeTasksOfRequest({ requestId: id }),
  ]);
  const wanted = instance === undefined ? undefined : wholeNumber('--instance', instance, 1, 1_000_000);
  const found = tasks.filter(({ taskId }) => wanted === undefined || taskId.instanceNo === wanted);
  if (found.length === 0) {
    throw new CliError('notFound', `'${id}' has no active ${wanted === undefined ? 'task' : `instance ${wanted}`}`);
  }
  if (found.length > 1 && wanted === undefined) {
    throw new CliError('usage', `'${id}' has ${found.length} active tasks: choose one by --instance or by its id`);
  }
  return found[0]!.taskId.id;
}

interface RemoveFlags extends Flags {
  force?: boolean;
  wait?: boolean;
  waitForTasks?: boolean;
}

function remove(...[command, run]: Parameters<Define>): void {
  command
    .argument('<request...>')
    .option(...message)
    .option('--force', 'kill the tasks at once, by SIGKILL; also remove requests that others follow')
    .option('--wait-for-tasks', 'let runs end by themselves first; nothing new starts meanwhile')
    .option('-w, --wait', 'wait until the requests are gone and their ids are free');
  examples(
    command,
    'muster remove greet -m "no greetings any more"',
    'muster remove web fragile report --wait',
    'muster remove nightly --wait-for-tasks',
  );
  remote<RemoveFlags, [string[]]>(command, run, async ({ api, out }, flags, ids) => {
    const { force, waitForTasks, wait } = flags;
    const body = { ...bodyOf(flags), ...(force && { force }), ...(waitForTasks && { waitForTasks }) };
    const removed: Request[] = [];
    const removeOne = async (requestId: string): Promise<void> => {
      removed.push(await api.requests.remove({ requestId, body }));
      if (!out.isJson)
        out.text(`${requestId} is ${waitForTasks ? 'removed when its runs have ended' : 'being removed'}`);
    };
    const { code, failed } = await forEach(await followersFirst(api, ids), removeOne);
    if (wait) for (const { id } of removed) await untilGone(api, id);
    if (out.isJson) await out.answer(removed, () => undefined);
    else if (failed > 0) out.note(`${removed.length} of ${ids.length} removed`);
    return code;
  });
}

/** A request that others follow cannot go before these. */
async function followersFirst({ flows }: Session['api'], ids: readonly string[]): Promise<string[]> {
  if (ids.length === 1) return [...ids];
  const followers = await Promise.all(
    ids.map(async (requestId): Promise<[string, string[]]> => {
      const { edges } = await flows.ofRequest({ requestId }).catch(() => ({ edges: [] }));
      return [requestId, edges.flatMap((edge) => (edge.parentId === requestId ? [edge.requestId] : []))];
    }),
  );
  const followersOf = new Map(followers);
  return inOrder(ids, (id) => followersOf.get(id)!);
}

/** Its tasks have ended, and nothing of it is left but its history. */
async function untilGone(api: Session['api'], requestId: string): Promise<void> {
  for (;;) {
    const isThere = await api.requests.simple({ requestId }).then(
      () => true,
      (cause: unknown) => {
        // Where callers are known, they are not told that there is none.
        if (isRefusal(cause) && (cause.status === 404 || cause.status === 403)) return false;
        throw cause;
      },
    );
    if (!isThere) return;
    await delay(lookEveryMillis);
  }
}
