import type { ContainerInfo, Resources } from '../../../../src/core/model/deploy.js';
import type { Request } from '../../../../src/core/model/request.js';
import { withoutAbsent } from '../../../../src/core/without-absent.js';
import {
  boundedRuns,
  type ConvertedJob,
  deployId,
  idOf,
  isMap,
  listOf,
  mostRunsAtOnce,
  numberOf,
  textOf,
  textsOf,
  variablesOf,
} from './documents.js';

type Manifest = Record<string, unknown>;

export const isCronJob = (value: unknown): value is Manifest => isMap(value) && value['kind'] === 'CronJob';

/** Values where the manifest does not say. */
const usual = { backoffLimit: 6, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 };
/** Delays between the tries of a job there: they double up to the longest. */
const backOff = { delayMillis: 10_000, backoffFactor: 2, maxDelayMillis: 360_000 };
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
  const limit = numberOf(within(job, 'activeDeadlineSeconds'));
  const request: Request = withoutAbsent({
    id,
    requestType: 'SCHEDULED' as const,
    schedule: textOf(within(spec, 'schedule')),
    scheduleTimeZone: textOf(within(spec, 'timeZone')),
    ...overlapOf(textOf(within(spec, 'concurrencyPolicy')) ?? 'Allow', notes),
    ...deadlineOf(within(spec, 'startingDeadlineSeconds'), notes),
    ...retriesOf(numberOf(within(job, 'backoffLimit')) ?? usual.backoffLimit),
    ...keptOf(spec),
    taskExecutionTimeLimitMillis: limit === undefined ? undefined : limit * 1_000,
  });
  const [program, ...words] = textsOf(container?.['command']);
  const deploy = withoutAbsent({
    requestId: id,
    id: deployId,
    command: program,
    arguments: [...words, ...textsOf(container?.['args'])],
    env: variablesOf(container?.['env'], notes),
    resources: resourcesOf(within(container, 'resources'), notes),
    containerInfo: containerOf(container),
  });
  if (container?.['envFrom'] !== undefined) notes.push('envFrom is not taken');
  return { request, deploy, notes };
}

function overlapOf(policy: string, notes: string[]): Partial<Request> {
  if (policy === 'Allow') {
    notes.push(boundedRuns('concurrencyPolicy Allow'));
    return { overlapPolicy: 'ALLOW', instances: mostRunsAtOnce };
  }
  if (policy === 'Forbid') return { overlapPolicy: 'SKIP' };
  if (policy === 'Replace') return { overlapPolicy: 'REPLACE' };
  notes.push(`concurrencyPolicy ${policy} is not taken: a run that is due while another goes on is skipped`);
  return {};
}

function deadlineOf(seconds: unknown, notes: string[]): Partial<Request> {
  if (seconds === undefined) return {};
  const millis = (numberOf(seconds) ?? 0) * 1_000;
  if (millis >= 1) return { missedRuns: { policy: 'SKIP', withinMillis: millis } };
  notes.push(`startingDeadlineSeconds ${JSON.stringify(seconds)} is not taken: it leaves no time to start`);
  return {};
}

const retriesOf = (attempts: number): Partial<Request> =>
  attempts > 0 ? { retry: { attempts, ...backOff } } : { numRetriesOnFailure: 0 };

/** Two limits there, one here: so many runs in all. */
function keptOf(spec: unknown): Partial<Request> {
  if (!isMap(spec)) return {};
  const names = ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit'] as const;
  if (names.every((name) => numberOf(spec[name]) === undefined)) return {};
  const count = names.reduce((sum, name) => sum + (numberOf(spec[name]) ?? usual[name]), 0);
  return { keepRuns: { count: Math.max(1, count) } };
}

function containerOf(container: Manifest | undefined): ContainerInfo | undefined {
  const image = textOf(container?.['image']);
  if (image === undefined) return undefined;
  const forcePullImage = container?.['imagePullPolicy'] === 'Always' || undefined;
  return { type: 'DOCKER', docker: withoutAbsent({ image, privileged: false, forcePullImage }) };
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
  return withoutAbsent({
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
