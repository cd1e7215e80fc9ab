import type { ContainerInfo, Resources } from '../../../../src/core/model/deploy.js';
import type { Request } from '../../../../src/core/model/request.js';
import {
  type ConvertedJob,
  deployId,
  given,
  idOf,
  isMap,
  listOf,
  numberOf,
  textOf,
  textsOf,
  variablesOf,
} from './documents.js';

type Manifest = Record<string, unknown>;

export const isCronJob = (value: unknown): value is Manifest => isMap(value) && value['kind'] === 'CronJob';

/** Tries of a job after the first, where its manifest does not say. */
const usualBackoffLimit = 6;
/** Members of the specification of a pod that say where and as whom it runs, which a request says otherwise. */
const ofPod = ['nodeSelector', 'affinity', 'tolerations', 'volumes', 'initContainers', 'securityContext'] as const;

/** A CronJob of Kubernetes: the first container of its pods, as a job with a schedule. */
export function convertCronJob(manifest: Manifest): ConvertedJob {
  const within = (value: unknown, ...names: string[]): unknown =>
    names.reduce((at, name) => (isMap(at) ? at[name] : undefined), value);
  const name = textOf(within(manifest, 'metadata', 'name')) ?? 'cron-job';
  const { spec } = manifest;
  const job = within(spec, 'jobTemplate', 'spec');
  const pod = within(job, 'template', 'spec');
  const [container, ...others] = listOf(within(pod, 'containers')).filter(isMap);
  const notes: string[] = [];
  const id = idOf(name);
  if (within(spec, 'suspend') === true) notes.push('it is suspended there: pause it');
  if (others.length > 0) notes.push(`${others.length} further containers of its pods are not taken`);
  for (const member of ofPod) if (within(pod, member) !== undefined) notes.push(`${member} of its pods is not taken`);
  for (const member of ['parallelism', 'completions'])
    if ((numberOf(within(job, member)) ?? 1) !== 1) notes.push(`${member} is not taken: a time has one run`);
  const policy = textOf(within(spec, 'concurrencyPolicy')) ?? 'Allow';
  if (policy !== 'Forbid')
    notes.push(`concurrencyPolicy ${policy} is not taken: a run that is due waits for no other, and is skipped`);
  if (within(spec, 'startingDeadlineSeconds') !== undefined) notes.push('startingDeadlineSeconds is not taken');
  const limit = numberOf(within(job, 'activeDeadlineSeconds'));
  const request: Request = given({
    id,
    requestType: 'SCHEDULED' as const,
    schedule: textOf(within(spec, 'schedule')),
    scheduleTimeZone: textOf(within(spec, 'timeZone')),
    numRetriesOnFailure: numberOf(within(job, 'backoffLimit')) ?? usualBackoffLimit,
    taskExecutionTimeLimitMillis: limit === undefined ? undefined : limit * 1_000,
  });
  const [program, ...words] = [...textsOf(container?.['command']), ...textsOf(container?.['args'])];
  const hasCommand = textsOf(container?.['command']).length > 0;
  const deploy = given({
    requestId: id,
    id: deployId,
    command: hasCommand ? program : undefined,
    arguments: hasCommand ? words : textsOf(container?.['args']),
    env: variablesOf(container?.['env'], notes),
    resources: resourcesOf(within(container, 'resources'), notes),
    containerInfo: containerOf(container),
  });
  if (container?.['envFrom'] !== undefined) notes.push('envFrom is not taken');
  return { request, deploy, notes };
}

function containerOf(container: Manifest | undefined): ContainerInfo | undefined {
  const image = textOf(container?.['image']);
  if (image === undefined) return undefined;
  const forcePullImage = container?.['imagePullPolicy'] === 'Always' || undefined;
  return { type: 'DOCKER', docker: given({ image, privileged: false, forcePullImage }) };
}

/** What it requests counts; else its limits. */
function resourcesOf(resources: unknown, notes: string[]): Resources | undefined {
  if (!isMap(resources)) return undefined;
  const asked = {
    ...(isMap(resources['limits']) && resources['limits']),
    ...(isMap(resources['requests']) && resources['requests']),
  };
  const read = (name: string, factor: number): number | undefined => {
    if (asked[name] === undefined) return undefined;
    const quantity = quantityOf(asked[name]);
    if (quantity === undefined) notes.push(`${name} '${String(asked[name])}' is no quantity`);
    return quantity === undefined ? undefined : Math.round(quantity * factor * 1_000) / 1_000;
  };
  return given({
    cpus: read('cpu', 1),
    memoryMb: read('memory', 1 / 1_048_576),
    diskMb: read('ephemeral-storage', 1 / 1_048_576),
  });
}

const suffixes: Readonly<Record<string, number>> = {
  m: 1 / 1_000,
  '': 1,
  k: 1_000,
  M: 1_000 ** 2,
  G: 1_000 ** 3,
  T: 1_000 ** 4,
  Ki: 1_024,
  Mi: 1_024 ** 2,
  Gi: 1_024 ** 3,
  Ti: 1_024 ** 4,
};

/** A quantity of Kubernetes, such as 100m or 1Gi. */
export function quantityOf(written: unknown): number | undefined {
  const [, digits, suffix = ''] = /^(\d+(?:\.\d+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/.exec(String(written)) ?? [];
  return digits === undefined ? undefined : Number(digits) * suffixes[suffix]!;
}
