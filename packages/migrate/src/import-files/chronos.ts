import type { ClusterArtifact, ContainerInfo } from '../../../../src/core/model/deploy.js';
import type { Request } from '../../../../src/core/model/request.js';
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
import { notesOnParents } from './parents.js';
import { dayOfSomeMonths, periodOf, ruleOf, timeOf } from './repeating-interval.js';

type Job = Record<string, unknown>;

export const isChronosJob = (value: unknown): value is Job =>
  isMap(value) &&
  typeof value['name'] === 'string' &&
  value['name'] !== '' &&
  ('command' in value || 'container' in value) &&
  ('schedule' in value || Array.isArray(value['parents']));

const volume = { properties: { containerPath: text, hostPath: text } };
export const chronosTexts = {
  properties: {
    name: text,
    command: text,
    arguments: texts,
    parents: texts,
    owner: text,
    runAsUser: text,
    schedule: text,
    scheduleTimeZone: text,
    uris: texts,
    constraints: { items: texts },
    environmentVariables: { items: { properties: { name: text, value: text } } },
    fetch: { items: { properties: { uri: text, output: text } } },
    container: { properties: { image: text, volumes: { items: volume } } },
  },
};

/** Figures of earlier runs. */
const figures = ['successCount', 'errorCount', 'lastSuccess', 'lastError', 'errorsSinceLastSuccess'];
/** Members that Chronos always answers, and that say something where they are true. */
const flags = ['async', 'highPriority', 'dataProcessingJobType', 'concurrent'];
/** Tries after the first one, where the job does not say. */
const usualRetries = 2;

/** Jobs of one file, which may name each other as parents. */
export function convertChronos(jobs: readonly Job[]): ConvertedJob[] {
  const softErrors = new Set(jobs.filter((job) => job['softError'] === true).map((job) => String(job['name'])));
  const converted = jobs.map((job) => convert(new Members(job), softErrors));
  const onParents = notesOnParents(converted.map(({ request }) => request));
  return converted.map((job) => ({ ...job, notes: [...job.notes, ...(onParents.get(job.request.id) ?? [])] }));
}

function convert(job: Members, softErrors: ReadonlySet<string>): ConvertedJob {
  const name = job.text('name')!;
  const id = idOf(name);
  const notes = renamed(id, name);
  job.pass(...figures, 'softError');
  for (const flag of flags) job.word(flag, ['false']);
  if (job.flag('disabled') === true) notes.push('it is disabled there: pause it');
  const request: Request = withoutAbsent({
    id,
    ...runsOf(job, softErrors, notes),
    owners: ownersOf(job),
    numRetriesOnFailure: job.number('retries') ?? usualRetries,
    requiredSlaveAttributes: attributesOf(job, notes),
  });
  const deploy = filled({
    requestId: id,
    id: deployId,
    ...commandOf(job, notes),
    user: job.text('runAsUser'),
    resources: resourcesOf(
      withoutAbsent({ cpus: job.number('cpus'), memoryMb: job.number('mem'), diskMb: job.number('disk') }),
      notes,
    ),
    env: Object.fromEntries(variablesOf(job.maps('environmentVariables'), notes)),
    uris: artifactsOf(job),
    containerInfo: containerOf(job, notes),
  });
  return { request, deploy, notes: [...notes, ...job.unread().map((path) => `${path} is not taken`)] };
}

/** With `shell`, which is usual, the command is a line for a shell, and Mesos passes no arguments. */
function commandOf(job: Members, notes: string[]): { command?: string; arguments?: string[]; shell: boolean } {
  const command = job.text('command');
  const shell = job.flag('shell') ?? true;
  const words = job.texts('arguments');
  if (command !== undefined && /^(http|ftp)/.test(command))
    notes.push('its command is an address, which Chronos fetches and starts: name it in uris, and start what it has');
  if (shell && words.length > 0) notes.push('arguments is not taken: with shell, they have no effect there');
  if (!shell && words.length > 0 && !job.has('container'))
    notes.push(
      'the first of its arguments is the name of the program there (argv[0]), and an argument like others here',
    );
  return withoutAbsent({ command, arguments: shell ? undefined : words, shell }) as { shell: boolean };
}

function runsOf(
  job: Members,
  softErrors: ReadonlySet<string>,
  notes: string[],
): Pick<Request, 'requestType'> & Partial<Request> {
  const parents = [...new Set(job.texts('parents'))];
  if (parents.length > 0) {
    const after = parents.map((parent) => ({
      requestId: idOf(parent),
      on: softErrors.has(parent) ? ('END' as const) : ('SUCCESS' as const),
    }));
    return { requestType: 'ON_DEMAND', after };
  }
  const schedule = job.text('schedule');
  const rule = schedule === undefined ? undefined : ruleOf(schedule);
  if (rule === undefined) {
    notes.push(`its schedule '${String(schedule)}' is not taken: it runs on demand`);
    return { requestType: 'ON_DEMAND' };
  }
  const scheduleTimeZone = job.text('scheduleTimeZone');
  const start = rule.start === undefined ? '' : timeOf(rule.start, scheduleTimeZone !== undefined);
  const day = dayOfSomeMonths(rule.text, start);
  if (day !== undefined) notes.push(`months without a day ${day} have no run; there they have one on an earlier day`);
  return withoutAbsent({
    requestType: 'SCHEDULED' as const,
    scheduleType: 'RFC5545' as const,
    schedule: `${start === '' ? '' : `DTSTART=${start} `}RRULE:${rule.text}`,
    scheduleTimeZone,
    ...lateOf(job.text('epsilon'), notes),
    ...overlapOf(job, notes),
  });
}

function overlapOf(job: Members, notes: string[]): Partial<Request> {
  if (job.flag('concurrent') !== true) return {};
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

function ownersOf(job: Members): string[] | undefined {
  const owners = (job.text('owner') ?? '').split(/[,;\s]+/).filter((owner) => owner !== '');
  return owners.length > 0 ? owners : undefined;
}

/** Constraints that demand a value. */
function attributesOf(job: Members, notes: string[]): Record<string, string> | undefined {
  const constraints = job.at('constraints');
  const demanded = constraints.names.flatMap((index): [string, string][] => {
    const [name, operator, value] = constraints.texts(index);
    if (name !== undefined && operator === 'EQUALS' && value !== undefined) return [[name, value]];
    notes.push(`the constraint ${constraints.shown(index)} is not taken`);
    return [];
  });
  return demanded.length > 0 ? Object.fromEntries(demanded) : undefined;
}

function artifactsOf(job: Members): ClusterArtifact[] {
  const plain = job.texts('uris').map((uri) => ({ uri }));
  const fetched = job.maps('fetch').flatMap((entry): ClusterArtifact[] => {
    const uri = entry.text('uri');
    if (uri === undefined) return [];
    const flag = (name: string) => entry.flag(name) || undefined;
    return [
      withoutAbsent({
        uri,
        extract: flag('extract'),
        executable: flag('executable'),
        cache: flag('cache'),
        outputFile: entry.text('output'),
      }) as ClusterArtifact,
    ];
  });
  return [...plain, ...fetched];
}

function containerOf(job: Members, notes: string[]): ContainerInfo | undefined {
  if (!job.has('container')) return undefined;
  const container = job.at('container');
  const image = container.text('image');
  if (image === undefined) {
    job.pass('container');
    notes.push('its container has no image, and is not taken');
    return undefined;
  }
  container.word('type', ['DOCKER']);
  const docker = withoutAbsent({
    image,
    privileged: false,
    network: container.word('network', ['HOST', 'BRIDGE', 'NONE']),
    forcePullImage: container.flag('forcePullImage') || undefined,
  });
  const volumes = container.maps('volumes').map((each) =>
    withoutAbsent({
      containerPath: each.text('containerPath'),
      hostPath: each.text('hostPath'),
      mode: each.word('mode', ['RW', 'RO']) ?? 'RO',
    }),
  );
  return filled({ type: 'DOCKER' as const, docker, volumes }) as ContainerInfo;
}
