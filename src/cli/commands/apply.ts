import { setTimeout as delay } from 'node:timers/promises';
import type { Applied as Answer, DeployRequest, Request } from 'muster-client';
import { inOrder } from '../../core/in-order.js';
import { forEach } from '../each.js';
import { CliError, exitCodes } from '../exit-codes.js';
import type { LocatedDocument, FileDocuments } from '../files/documents.js';
import { isRefusal } from '../remote/refusal.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { fileOption } from '../words.js';
import { awaitDeploy } from './deploy-progress.js';

interface Flags {
  file: string[];
  wait?: boolean;
  waitFor?: string;
  message?: string;
  dryRun?: boolean;
  acknowledge?: boolean;
}

interface ApplyResult {
  kind: 'request' | 'deploy';
  requestId: string;
  deployId?: string;
  result: 'created' | 'changed' | 'deployed' | 'unchanged';
  /** Names of the fields that differ. */
  changes: string[];
}

/** A request and its deploy, or one of the two: applied together or not at all. */
interface Wish {
  request?: Request;
  deploy?: DeployRequest | undefined;
}

/** Longest wait until a request is gone that is to be made anew. */
const leavingMillis = 60_000;
const lookEveryMillis = 500;

/** Makes what files say be so. What is so already is left alone. */
export function apply(...[command, run]: Parameters<Define>): void {
  command
    .requiredOption(...fileOption)
    .option('-w, --wait', 'wait until the deploys have ended, and show their progress')
    .option('--wait-for <time>', 'longest wait for each deploy, such as 10m; the deploy goes on after it (1h)')
    .option('-m, --message <text>', 'reason, kept in the history of deploys')
    .option('--dry-run', 'show what would be done, and do nothing')
    .option('--acknowledge', 'confirm a large scale-down');
  examples(
    command,
    'muster apply -f examples/web/request.json examples/web/deploy-v1.json --wait',
    'muster apply -f examples/worker --dry-run',
    'muster apply -f - --dry-run < examples/web/request.json',
  );
  remote<Flags, []>(command, run, async (session, flags) => {
    const { readDocuments } = await import('../files/documents.js');
    const wishes = wishesIn(await readDocuments(flags.file));
    const done: ApplyResult[] = [];
    const { code, failed } = await forEach(wishes, async (wish) => {
      const answer = await applyOne(session, wish, flags);
      const applied = appliedIn(answer, flags);
      done.push(...applied);
      for (const each of applied) tell(session, each, flags);
      for (const note of answer.notes) session.out.note(`${answer.requestId}: ${note}`);
      const { requestId, deployId, deploy = 'UNCHANGED' } = answer;
      if (!flags.wait || flags.dryRun || deploy === 'UNCHANGED') return undefined;
      const { outcome } = await awaitDeploy(session, { requestId, deployId: deployId! }, flags.waitFor);
      return exitCodes[outcome];
    });
    if (session.out.isJson) await session.out.answer(done, () => undefined);
    else if (wishes.length > 1) session.out.line(summary(done, failed));
    return code;
  });
}

/** Requests with their deploys, in the order of the files but after those that they follow, then deploys alone. */
function wishesIn({ requests, deploys }: FileDocuments): Wish[] {
  refuseTwice(requests, ({ id }) => `request '${id}'`);
  refuseTwice(deploys, ({ deploy }) => `deploys of request '${deploy.requestId}'`);
  for (const { value, place } of deploys) {
    if (!value.updatedRequest) continue;
    throw new CliError('usage', `${place}: apply takes no updatedRequest: give the request as a document of its own`);
  }
  const deployOf = (id: string) => deploys.find(({ value }) => value.deploy.requestId === id)?.value;
  const wished = new Map(requests.map(({ value }) => [value.id, value]));
  const ids = inOrder([...wished.keys()], (id) => namedBy(wished.get(id)!));
  return [
    ...ids.map((id) => ({ request: wished.get(id)!, deploy: deployOf(id) })),
    ...deploys.flatMap(({ value: deploy }) => (wished.has(deploy.deploy.requestId) ? [] : { deploy })),
  ];
}

/** Requests that have to be there before it. */
const namedBy = ({ after = [], startAfter = [] }: Request): string[] => [
  ...after.map(({ requestId }) => requestId),
  ...startAfter,
];

function refuseTwice<T>(all: readonly LocatedDocument<T>[], nameOf: (value: T) => string): void {
  const seen = new Map<string, string>();
  for (const { value, place } of all) {
    const name = nameOf(value);
    const first = seen.get(name);
    if (first !== undefined) throw new CliError('usage', `${place}: ${name} again, after ${first}: apply one of them`);
    seen.set(name, place);
  }
}

async function applyOne({ api, out }: Session, wish: Wish, flags: Flags): Promise<Answer> {
  const { request, deploy: { deploy, unpauseOnSuccessfulDeploy, ...said } = {} as Partial<DeployRequest> } = wish;
  const message = flags.message ?? said.message;
  const call = {
    ...(flags.dryRun && { dryRun: true }),
    ...(flags.acknowledge && { largeScaleDownAcknowledged: true }),
    body: {
      ...(request && { request }),
      ...(deploy && { deploy }),
      ...(unpauseOnSuccessfulDeploy !== undefined && { unpauseOnSuccessfulDeploy }),
      ...(deploy && message !== undefined && { message }),
    },
  };
  const deadline = performance.now() + leavingMillis;
  for (let isTold = false; ; isTold = true) {
    try {
      return await api.requests.apply(call);
    } catch (cause) {
      const isLeaving = isRefusal(cause) && cause.code === 'REQUEST_BEING_CLEANED';
      if (!isLeaving || flags.dryRun || performance.now() > deadline) throw cause;
      if (!isTold) out.note(`${cause.message.replace(/; try again later$/, '')}: waiting until it is gone`);
      await delay(lookEveryMillis);
    }
  }
}

/** The lines that are printed for an answer: one for each document. */
function appliedIn({ requestId, request, deploy, deployId, changes }: Answer, { wait }: Flags): ApplyResult[] {
  const of = (kind: string): string[] =>
    changes.filter((name) => name.startsWith(`${kind}.`)).map((name) => name.slice(kind.length + 1));
  const applied: ApplyResult[] = [];
  if (request) {
    const result = ({ CREATED: 'created', CHANGED: 'changed', UNCHANGED: 'unchanged' } as const)[request];
    applied.push({ kind: 'request', requestId, result, changes: of('request') });
  }
  if (deploy) {
    // Under way since an earlier call: it is what is waited for.
    const isStarted = deploy === 'STARTED' || (deploy === 'IN_PROGRESS' && wait);
    const result = isStarted ? 'deployed' : 'unchanged';
    applied.push({ kind: 'deploy', requestId, ...(deployId && { deployId }), result, changes: of('deploy') });
  }
  return applied;
}

function tell({ out }: Session, { kind, requestId, deployId, result, changes }: ApplyResult, { dryRun }: Flags): void {
  if (out.isJson) return;
  const verb = dryRun && result !== 'unchanged' ? `would be ${result}` : result;
  const fields = changes.length > 0 ? ` (${changes.join(', ')})` : '';
  out.text(`${kind} ${requestId}${deployId === undefined ? '' : ` ${deployId}`}: ${verb}${fields}`);
}

function summary(done: readonly ApplyResult[], failed: number): string {
  const parts = (['created', 'changed', 'deployed', 'unchanged'] as const).map(
    (result) => [done.filter((each) => each.result === result).length, result] as const,
  );
  return [...parts, [failed, 'failed'] as const]
    .filter(([count]) => count > 0)
    .map(([count, result]) => `${count} ${result}`)
    .join(', ');
}
