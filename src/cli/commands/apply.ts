import type { DeployRequest, Request, RequestParent } from 'muster-client';
import { CliError, exitCodes } from '../exit-codes.js';
import type { Placed } from '../files/documents.js';
import { isMissing } from '../remote/refusal.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { awaitDeploy } from './deploy-progress.js';

interface Flags {
  file: string[];
  wait?: boolean;
  waitFor?: string;
  message?: string;
  dryRun?: boolean;
  acknowledge?: boolean;
}

interface Applied {
  kind: 'request' | 'deploy';
  requestId: string;
  deployId?: string;
  result: 'created' | 'changed' | 'deployed' | 'unchanged';
  /** Names of the fields that differ. */
  changes: string[];
}

/** Makes what files say be so. What is so already is left alone. */
export function apply(...[command, run]: Parameters<Define>): void {
  command
    .requiredOption('-f, --file <file...>', 'YAML or JSON, several documents in one if need be; - is stdin')
    .option('-w, --wait', 'until the deploys have ended, telling how far they are')
    .option('--wait-for <time>', 'at the longest for each, such as 10m; the deploy goes on (1h)')
    .option('-m, --message <text>', 'why; kept in the history of deploys')
    .option('--dry-run', 'say what would be done, and do nothing')
    .option('--acknowledge', 'yes, many fewer instances are meant');
  examples(
    command,
    'muster apply -f examples/web/request.json examples/web/deploy-v1.json --wait',
    'muster apply -f - --dry-run < examples/web/request.json',
  );
  remote<Flags, []>(command, run, async (session, flags) => {
    const { readDocuments } = await import('../files/documents.js');
    const { requests, deploys } = await readDocuments(flags.file);
    const done: Applied[] = [];
    let code: number = exitCodes.done;
    for (const { value } of requests) {
      const applied = await applyRequest(session, value, flags);
      done.push(applied);
      tell(session, applied, flags);
    }
    for (const placed of deploys) {
      const isNew = done.some(
        ({ requestId, result }) => requestId === placed.value.deploy.requestId && result === 'created',
      );
      const applied = await applyDeploy(session, placed, flags, isNew);
      done.push(applied);
      tell(session, applied, flags);
      if (!flags.wait || flags.dryRun || applied.result !== 'deployed') continue;
      const key = { requestId: applied.requestId, deployId: applied.deployId! };
      const { outcome } = await awaitDeploy(session, key, flags.waitFor);
      if (outcome !== 'done') code = exitCodes[outcome];
    }
    if (session.out.isJson) await session.out.answer(done, () => undefined);
    return code;
  });
}

function tell({ out }: Session, { kind, requestId, deployId, result, changes }: Applied, { dryRun }: Flags): void {
  if (out.isJson) return;
  const verb = dryRun && result !== 'unchanged' ? `would be ${result}` : result;
  const fields = changes.length > 0 ? ` (${changes.join(', ')})` : '';
  out.text(`${kind} ${requestId}${deployId === undefined ? '' : ` ${deployId}`}: ${verb}${fields}`);
}

async function applyRequest({ api }: Session, wanted: Request, { dryRun }: Flags): Promise<Applied> {
  const { differences } = await import('../files/differences.js');
  const applied = { kind: 'request', requestId: wanted.id } as const;
  const present = await api.requests.simple({ requestId: wanted.id }).catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    throw cause;
  });
  if (!present) {
    if (!dryRun) await api.requests.save({ body: wanted });
    return { ...applied, result: 'created', changes: [] };
  }
  const changes = differences(wanted, present.request);
  if (changes.length === 0) return { ...applied, result: 'unchanged', changes };
  if (!dryRun) await api.requests.save({ body: wanted });
  return { ...applied, result: 'changed', changes };
}

async function applyDeploy(
  session: Session,
  placed: Placed<DeployRequest>,
  flags: Flags,
  isNew: boolean,
): Promise<Applied> {
  const { api } = session;
  const { idOf } = await import('../files/deploys.js');
  const { differences } = await import('../files/differences.js');
  const { deploy } = placed.value;
  const { requestId } = deploy;
  const applied = { kind: 'deploy', requestId } as const;
  // In a dry run its request may be one that would be made.
  if (isNew && flags.dryRun)
    return { ...applied, deployId: deploy.id ?? idOf(deploy), result: 'deployed', changes: [] };
  const parent: RequestParent = await api.requests.get({ requestId });
  const present = parent.pendingDeploy ?? parent.activeDeploy;
  const changes = present ? differences({ ...deploy, id: present.id }, present) : [];
  if (present && changes.length === 0) {
    // Under way since an earlier call: it is what is waited for.
    const result = parent.pendingDeploy && flags.wait ? 'deployed' : 'unchanged';
    return { ...applied, deployId: present.id, result, changes };
  }
  if (present && present.id === deploy.id) {
    const what = changes.map((name) => `deploy.${name}`).join(', ');
    throw new CliError(
      'conflict',
      `${placed.place}: ${requestId} runs another ${deploy.id} (${what}): a deploy keeps what it says, so choose another deploy.id, or leave it out`,
    );
  }
  const deployId = deploy.id ?? (await unusedId(session, requestId, idOf(deploy)));
  if (flags.dryRun) return { ...applied, deployId, result: 'deployed', changes };
  const answer = await api.deploys.start({
    ...(flags.acknowledge && { largeScaleDownAcknowledged: true }),
    body: {
      ...placed.value,
      deploy: { ...deploy, id: deployId },
      ...(flags.message !== undefined && { message: flags.message }),
    },
  });
  return {
    ...applied,
    deployId: answer.pendingDeployState?.deployMarker.deployId ?? deployId,
    result: 'deployed',
    changes,
  };
}

/** What was deployed once and is wanted again needs another id: those of a request are never given twice. */
async function unusedId({ api }: Session, requestId: string, id: string): Promise<string> {
  for (let number = 1; ; number++) {
    const deployId = number === 1 ? id : `${id}.${number}`;
    const isUsed = await api.history.deploy({ requestId, deployId }).then(
      () => true,
      (cause: unknown) => {
        if (isMissing(cause)) return false;
        throw cause;
      },
    );
    if (!isUsed) return deployId;
  }
}
