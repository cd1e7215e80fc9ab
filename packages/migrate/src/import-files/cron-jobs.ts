import type { ContainerInfo, Resources } from '../../../../src/core/model/deploy.js';
import type { Request } from '../../../../src/core/model/request.js';
import { quantityOf } from '../../../../src/core/kubernetes-quantity.js';
import { withoutAbsent } from '../../../../src/core/without-absent.js';
import {
  boundedRuns,
  type ConvertedJob,
  deployId,
  filled,
  idOf,
  mostRunsAtOnce,
  renamed,
  resourcesOf,
  text,
  texts,
  variablesOf,
} from './documents.js';
import { isMap, Members } from './members.js';
import { References } from './references.js';

type Manifest = Record<string, unknown>;

export const isCronJob = (value: unknown): value is Manifest => isMap(value) && value['kind'] === 'CronJob';

/** A schema of what is at a path. */
const at = (path: string, inner: object): object =>
  path.split('.').reduceRight((schema, name) => ({ properties: { [name]: schema } }), inner);
const amounts = { additionalProperties: text };
const container = {
  properties: {
    image: text,
    command: texts,
    args: texts,
    env: { items: { properties: { name: text, value: text } } },
    resources: { properties: { requests: amounts, limits: amounts } },
  },
};
export const cronJobTexts = {
  anyOf: [
    at('metadata.name', text),
    at('spec', { properties: { schedule: text, timeZone: text } }),
    at('spec.jobTemplate.spec.template.spec.containers', { items: container }),
  ],
};

/** Values where the manifest does not say. */
const usual = { backoffLimit: 6, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 };
/** Delays between the tries of a job there: they double up to the longest. */
const backOff = { delayMillis: 10_000, backoffFactor: 2, maxDelayMillis: 360_000 };
/** What Kubernetes writes into the manifests that it answers. */
const ofKubernetes = ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'selfLink', 'managedFields'];
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** A CronJob of Kubernetes: the first container of its pods, as a job with a schedule. */
export function convertCronJob(manifest: Manifest): ConvertedJob {
  const document = new Members(manifest);
  document.pass('apiVersion', 'kind', 'status');
  const metadata = document.at('metadata');
  metadata.pass(...ofKubernetes);
  if (metadata.has('annotations')) metadata.at('annotations').pass(lastApplied);
  const spec = document.at('spec');
  const job = spec.at('jobTemplate').at('spec');
  const pod = job.at('template').at('spec');
  const name = metadata.text('name') ?? 'cron-job';
  const id = idOf(name);
  const notes = renamed(id, name);
  const request: Request = withoutAbsent({
    id,
    requestType: 'SCHEDULED' as const,
    ...timesOf(spec, notes),
    ...overlapOf(spec, notes),
    ...deadlineOf(spec, notes),
    ...triesOf(job, pod, notes),
    ...keptOf(spec),
  });
  for (const member of ['parallelism', 'completions'])
    if ((job.number(member) ?? 1) !== 1) notes.push(`${member} is not taken: a time has one run`);
  job.word('completionMode', ['NonIndexed']);
  passUsual(pod, {
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: '30',
  });
  const containers = pod.at('containers');
  const [index] = containers.names;
  const first = index === undefined ? undefined : containers.at(index);
  if (!first) notes.push('its pods have no container');
  const deploy = filled({ requestId: id, id: deployId, ...(first && programOf(first, notes)) });
  return { request, deploy, notes: [...notes, ...document.unread().map((path) => `${path} is not taken`)] };
}

/** Values that hold without being named as well, and that Kubernetes adds. */
function passUsual(members: Members, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) members.word(name, [value]);
}

function timesOf(spec: Members, notes: string[]): Partial<Request> {
  if (spec.flag('suspend') === true) notes.push('it is suspended there: pause it');
  const scheduleTimeZone = spec.text('timeZone');
  if (scheduleTimeZone === undefined)
    notes.push('it has no timeZone: its schedule is in the zone of the control plane there, and in UTC here');
  return { schedule: spec.text('schedule'), scheduleTimeZone };
}

function overlapOf(spec: Members, notes: string[]): Partial<Request> {
  const policy = spec.text('concurrencyPolicy') ?? 'Allow';
  if (policy === 'Allow') {
    notes.push(boundedRuns('concurrencyPolicy Allow'));
    return { overlapPolicy: 'ALLOW', instances: mostRunsAtOnce };
  }
  if (policy === 'Forbid') return { overlapPolicy: 'SKIP' };
  if (policy === 'Replace') return { overlapPolicy: 'REPLACE' };
  notes.push(`concurrencyPolicy ${policy} is not taken: a run that is due while another goes on is skipped`);
  return {};
}

function deadlineOf(spec: Members, notes: string[]): Partial<Request> {
  const seconds = spec.number('startingDeadlineSeconds');
  if (seconds === undefined) return {};
  if (seconds * 1_000 >= 1) return { missedRuns: { policy: 'SKIP', withinMillis: seconds * 1_000 } };
  notes.push(`startingDeadlineSeconds ${seconds} is not taken: it leaves no time to start`);
  return {};
}

function triesOf(job: Members, pod: Members, notes: string[]): Partial<Request> {
  const attempts = job.number('backoffLimit') ?? usual.backoffLimit;
  const limit = job.number('activeDeadlineSeconds');
  // With Never, a try has a pod of its own, as it has a task of its own here.
  if (pod.word('restartPolicy', ['Never', 'OnFailure']) === 'OnFailure')
    notes.push('restartPolicy OnFailure is not taken: each try is a task of its own, as with Never');
  if (limit !== undefined && attempts > 0)
    notes.push('activeDeadlineSeconds is for all tries together there, and for each of them here');
  return {
    ...(attempts > 0 ? { retry: { attempts, ...backOff } } : { numRetriesOnFailure: 0 }),
    taskExecutionTimeLimitMillis: limit === undefined ? undefined : limit * 1_000,
  };
}

/** Two limits there, one here: so many runs in all. */
function keptOf(spec: Members): Partial<Request> {
  const names = ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit'] as const;
  if (!names.some((name) => spec.has(name))) return {};
  const count = names.reduce((sum, name) => sum + (spec.number(name) ?? usual[name]), 0);
  return { keepRuns: { count: Math.max(1, count) } };
}

/** What its first container runs. */
function programOf(first: Members, notes: string[]) {
  first.pass('name');
  passUsual(first, { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' });
  const variables = variablesOf(first.maps('env'), notes);
  const references = new References(variables, first.maps('env'), first.has('envFrom'));
  const env = Object.fromEntries(references.variables);
  const [command, ...words] = [...first.texts('command')].map((word) => references.replaced(word));
  const given = first.texts('args').map((word) => references.replaced(word));
  notes.push(...references.notes());
  return {
    command,
    arguments: [...words, ...given],
    env,
    resources: askedOf(first, notes),
    containerInfo: imageOf(first),
  };
}

function imageOf(first: Members): ContainerInfo | undefined {
  const image = first.text('image');
  const isAlwaysPulled = first.word('imagePullPolicy', ['Always', 'IfNotPresent']) === 'Always';
  if (image === undefined) return undefined;
  const docker = withoutAbsent({ image, privileged: false, forcePullImage: isAlwaysPulled || undefined });
  return { type: 'DOCKER', docker };
}

const bytesOfMb = 1_048_576;

/** A machine shares its processors by what is requested. Memory and disk are limits here, so limits come first. */
function askedOf(first: Members, notes: string[]): Resources | undefined {
  const requests = first.at('resources').at('requests');
  const limits = first.at('resources').at('limits');
  const read = (from: Members, name: string, unit: number): number | undefined => {
    const written = from.text(name);
    if (written === undefined) return undefined;
    const quantity = quantityOf(written);
    if (quantity === undefined) notes.push(`${name} '${written}' is no quantity`);
    return quantity === undefined ? undefined : Math.round((quantity / unit) * 1_000) / 1_000;
  };
  const limited = (name: string, member: string): number | undefined => {
    const limit = read(limits, name, bytesOfMb);
    const request = read(requests, name, bytesOfMb);
    if (limit !== undefined && request !== undefined && limit !== request)
      notes.push(
        `resources.requests.${name} is not taken: ${member} is a limit here, and has that of resources.limits`,
      );
    if (limit === undefined && request !== undefined)
      notes.push(`it has no limit of ${name} there; ${member} ${request}, which it requests, is one here`);
    return limit ?? request;
  };
  const cpus = requests.has('cpu') ? read(requests, 'cpu', 1) : read(limits, 'cpu', 1);
  const memoryMb = limited('memory', 'memoryMb');
  return resourcesOf(withoutAbsent({ cpus, memoryMb, diskMb: limited('ephemeral-storage', 'diskMb') }), notes);
}
