import type { ClusterArtifact, ContainerInfo } from '../../../../src/core/model/deploy.js';
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

type Job = Record<string, unknown>;

export const isChronosJob = (value: unknown): value is Job =>
  isMap(value) &&
  textOf(value['name']) !== undefined &&
  ('command' in value || 'container' in value) &&
  ('schedule' in value || Array.isArray(value['parents']));

/** Members that say something that no request says; those of figures and of what Chronos derives are left out in silence. */
const notTaken: Readonly<Record<string, (value: unknown) => boolean>> = {
  executor: (value) => typeof value === 'string' && value !== '',
  highPriority: (value) => value === true,
  async: (value) => value === true,
  dataProcessingJobType: (value) => value === true,
  taskInfoData: (value) => typeof value === 'string' && value !== '',
};

/** Jobs of one file, which may name each other as parents. */
export function convertChronos(jobs: readonly Job[]): ConvertedJob[] {
  const softErrors = new Set(jobs.filter((job) => job['softError'] === true).map((job) => String(job['name'])));
  return jobs.map((job) => convert(job, softErrors));
}

function convert(job: Job, softErrors: ReadonlySet<string>): ConvertedJob {
  const name = String(job['name']);
  const id = idOf(name);
  const notes = Object.entries(notTaken).flatMap(([member, says]) =>
    says(job[member]) ? `${member} is not taken` : [],
  );
  if (id !== name) notes.push(`its name is '${name}' there`);
  if (job['disabled'] === true) notes.push('it is disabled there: pause it');
  const { shell = true } = job;
  const words = textsOf(job['arguments']);
  const request: Request = withoutAbsent({
    id,
    ...runsOf(job, softErrors, notes),
    owners: ownersOf(job),
    numRetriesOnFailure: numberOf(job['retries']),
    requiredSlaveAttributes: attributesOf(job, notes),
  });
  const deploy = withoutAbsent({
    requestId: id,
    id: deployId,
    command: textOf(job['command']),
    arguments: words.length > 0 ? words : undefined,
    shell: shell === true && words.length === 0 && !isMap(job['container']) ? true : undefined,
    user: textOf(job['runAsUser']),
    resources: withoutAbsent({
      cpus: numberOf(job['cpus']),
      memoryMb: numberOf(job['mem']),
      diskMb: numberOf(job['disk']),
    }),
    env: variablesOf(job['environmentVariables'], notes),
    uris: artifactsOf(job),
    containerInfo: containerOf(job['container'], notes),
  });
  return { request, deploy, notes };
}

function runsOf(
  job: Job,
  softErrors: ReadonlySet<string>,
  notes: string[],
): Pick<Request, 'requestType'> & Partial<Request> {
  const parents = textsOf(job['parents']);
  if (parents.length > 0) {
    if (job['concurrent'] === true) notes.push('concurrent is not taken: what follows others runs each time');
    const after = parents.map((parent) => ({
      requestId: idOf(parent),
      on: softErrors.has(parent) ? ('END' as const) : ('SUCCESS' as const),
    }));
    return { requestType: 'ON_DEMAND', after };
  }
  const schedule = textOf(job['schedule']);
  const rule = schedule === undefined ? undefined : ruleOf(schedule);
  if (rule === undefined) {
    notes.push(`its schedule '${String(schedule)}' is not taken: it runs on demand`);
    return { requestType: 'ON_DEMAND' };
  }
  const scheduleTimeZone = textOf(job['scheduleTimeZone']);
  const isLocal = scheduleTimeZone !== undefined;
  return withoutAbsent({
    requestType: 'SCHEDULED' as const,
    scheduleType: 'RFC5545' as const,
    schedule: `${rule.start === undefined ? '' : `DTSTART=${timeOf(rule.start, isLocal)} `}RRULE:${rule.text}`,
    scheduleTimeZone,
    ...lateOf(textOf(job['epsilon']), notes),
    ...overlapOf(job, notes),
  });
}

function overlapOf({ concurrent }: Job, notes: string[]): Partial<Request> {
  if (concurrent !== true) return {};
  notes.push(boundedRuns('concurrent'));
  return { overlapPolicy: 'ALLOW', instances: mostRunsAtOnce };
}

/** The longest delay of a run there. */
function lateOf(epsilon: string | undefined, notes: string[]): Partial<Request> {
  if (epsilon === undefined) return {};
  const { months = 0, seconds = 0 } = periodOf(epsilon) ?? {};
  if (months === 0 && seconds > 0) return { missedRuns: { policy: 'SKIP', withinMillis: seconds * 1_000 } };
  notes.push(`epsilon '${epsilon}' is not taken`);
  return {};
}

const period = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** A period of ISO 8601; undefined: it is none. */
function periodOf(text: string): { months: number; seconds: number } | undefined {
  const found = period.exec(text)?.slice(1);
  if (!found) return undefined;
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = found.map((part) =>
    Number(part ?? 0),
  );
  return { months: years * 12 + months, seconds: (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds };
}

/** A repeating interval of ISO 8601 as a rule of RFC 5545; undefined: it cannot be one. */
export function ruleOf(schedule: string): { start?: string; text: string } | undefined {
  const [repetitions = '', start = '', length = '', ...more] = schedule.split('/');
  const times = /^R(\d*)$/.exec(repetitions)?.[1];
  const found = periodOf(length);
  if (times === undefined || !found || more.length > 0 || times === '0') return undefined;
  if (start !== '' && Number.isNaN(Date.parse(start))) return undefined;
  const frequency = frequencyOf(found.months, found.seconds);
  if (frequency === undefined) return undefined;
  return { ...(start !== '' && { start }), text: frequency + (times === '' ? '' : `;COUNT=${times}`) };
}

function frequencyOf(months: number, seconds: number): string | undefined {
  const every = (name: string, interval: number) => `FREQ=${name}${interval === 1 ? '' : `;INTERVAL=${interval}`}`;
  if (months > 0) return seconds > 0 ? undefined : every('MONTHLY', months);
  const units = [
    ['DAILY', 86_400],
    ['HOURLY', 3_600],
    ['MINUTELY', 60],
    ['SECONDLY', 1],
  ] as const;
  const unit = units.find(([, size]) => seconds > 0 && seconds % size === 0);
  return unit && every(unit[0], seconds / unit[1]);
}

/** `isLocal`: a zone is given beside it, which counts in place of that of the time. */
function timeOf(start: string, isLocal: boolean): string {
  const written = isLocal ? start.replace(/(Z|[+-]\d\d:?\d\d)$/, '') : new Date(start).toISOString();
  return written.replace(/\.\d+/, '').replaceAll(/[-:Z]/g, '');
}

function ownersOf(job: Job): string[] | undefined {
  const owners = (textOf(job['owner']) ?? '').split(/[,;\s]+/).filter((owner) => owner !== '');
  return owners.length > 0 ? owners : undefined;
}

/** Constraints that demand a value. */
function attributesOf(job: Job, notes: string[]): Record<string, string> | undefined {
  const attributes: Record<string, string> = {};
  for (const constraint of listOf(job['constraints'])) {
    const [name, operator, value] = textsOf(constraint);
    if (name !== undefined && operator === 'EQUALS' && value !== undefined) attributes[name] = value;
    else notes.push(`the constraint ${JSON.stringify(constraint)} is not taken`);
  }
  return Object.keys(attributes).length > 0 ? attributes : undefined;
}

function artifactsOf(job: Job): ClusterArtifact[] | undefined {
  const plain = textsOf(job['uris']).map((uri) => ({ uri }));
  const fetched = listOf(job['fetch'])
    .filter(isMap)
    .flatMap(({ uri, extract, executable, cache, output }): ClusterArtifact[] =>
      typeof uri === 'string'
        ? [
            withoutAbsent({
              uri,
              extract: extract === true || undefined,
              executable: executable === true || undefined,
              cache: cache === true || undefined,
              outputFile: textOf(output),
            }) as ClusterArtifact,
          ]
        : [],
    );
  return plain.length + fetched.length > 0 ? [...plain, ...fetched] : undefined;
}

function containerOf(container: unknown, notes: string[]): ContainerInfo | undefined {
  if (!isMap(container)) return undefined;
  const image = textOf(container['image']);
  if (image === undefined) {
    notes.push('its container has no image, and is not taken');
    return undefined;
  }
  const network = container['network'];
  const volumes = listOf(container['volumes'])
    .filter(isMap)
    .map((volume) =>
      withoutAbsent({
        containerPath: textOf(volume['containerPath']),
        hostPath: textOf(volume['hostPath']),
        mode: volume['mode'] === 'RW' ? ('RW' as const) : ('RO' as const),
      }),
    );
  const docker = withoutAbsent({
    image,
    privileged: false,
    network: network === 'HOST' || network === 'BRIDGE' || network === 'NONE' ? network : undefined,
    forcePullImage: container['forcePullImage'] === true || undefined,
  });
  return withoutAbsent({
    type: 'DOCKER' as const,
    docker,
    volumes: volumes.length > 0 ? volumes : undefined,
  }) as ContainerInfo;
}
