import { view } from '../view';
import type { Document } from './document';

export interface FormField {
  readonly path: string;
  readonly label: string;
  readonly kind: 'text' | 'number' | 'check' | 'lines' | 'map' | 'choice' | 'json';
  readonly choices?: readonly (readonly [value: string, label: string])[];
  readonly placeholder?: string;
  readonly help?: string;
  /** Shown for such a document only. */
  readonly when?: (document: Document) => boolean;
}

export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly FormField[];
  /** Unfolded from the beginning. */
  readonly isOpen?: boolean;
}

type Details = Partial<Omit<FormField, 'path' | 'label' | 'kind'>>;
const field =
  (kind: FormField['kind']) =>
  (path: string, label: string, details: Details = {}): FormField => ({ path, label, kind, ...details });
const [text, number, check, lines, map, json] = (['text', 'number', 'check', 'lines', 'map', 'json'] as const).map(
  field,
) as [
  ReturnType<typeof field>,
  ReturnType<typeof field>,
  ReturnType<typeof field>,
  ReturnType<typeof field>,
  ReturnType<typeof field>,
  ReturnType<typeof field>,
];
const choice = (path: string, label: string, choices: FormField['choices'], details: Details = {}): FormField => ({
  path,
  label,
  kind: 'choice',
  choices,
  ...details,
});
const same = (...values: string[]): FormField['choices'] => values.map((value) => [value, value] as const);

const typeIs =
  (...types: string[]) =>
  (document: Document): boolean =>
    types.includes(String(document['requestType']));
const longRunning = typeIs('SERVICE', 'WORKER');
const jobs = typeIs('SCHEDULED', 'ON_DEMAND', 'RUN_ONCE');
const balanced = { when: () => view.loadBalancingEnabled };

export const requestGroups: readonly FieldGroup[] = [
  {
    title: 'Request',
    isOpen: true,
    fields: [
      text('id', 'Id', { help: 'Letters, digits, - and _' }),
      choice('requestType', 'Type', same('SERVICE', 'WORKER', 'SCHEDULED', 'ON_DEMAND', 'RUN_ONCE')),
      number('instances', 'Instances', { placeholder: '1', when: typeIs('SERVICE', 'WORKER', 'ON_DEMAND') }),
      text('schedule', 'Schedule', { help: 'Cron, Quartz or RFC 5545', when: typeIs('SCHEDULED') }),
      text('quartzSchedule', 'Quartz schedule', { when: typeIs('SCHEDULED') }),
      choice('scheduleType', 'Kind of schedule', same('CRON', 'QUARTZ', 'RFC5545'), { when: typeIs('SCHEDULED') }),
      text('scheduleTimeZone', 'Time zone of the schedule', { placeholder: 'UTC', when: typeIs('SCHEDULED') }),
      lines('owners', 'Owners, one a line', { help: 'Addresses that are sent mail' }),
      text('group', 'Group'),
    ],
  },
  {
    title: 'Runs and retries',
    fields: [
      number('numRetriesOnFailure', 'Retries after a failure', { when: jobs }),
      number('scheduledExpectedRuntimeMillis', 'Expected run time in ms', { when: typeIs('SCHEDULED') }),
      number('taskExecutionTimeLimitMillis', 'Time limit of a task in ms'),
      number('killOldNonLongRunningTasksAfterMillis', 'Old runs are ended after ms', { when: jobs }),
      number('waitAtLeastMillisAfterTaskFinishesForReschedule', 'Pause after a task in ms', { when: longRunning }),
      check('bounceAfterScale', 'Restart after scaling', { when: longRunning }),
      check('skipHealthchecks', 'Skip health checks', { when: longRunning }),
      number('maxTasksPerOffer', 'Most tasks on a machine at once'),
      number('taskPriorityLevel', 'Priority, 0 to 1'),
      text('taskLogErrorRegex', 'Expression that finds errors in logs'),
      check('taskLogErrorRegexCaseSensitive', 'It minds upper and lower case'),
    ],
  },
  {
    title: 'Placement',
    fields: [
      choice(
        'slavePlacement',
        'Spread over machines',
        same('SEPARATE', 'OPTIMISTIC', 'GREEDY', 'SEPARATE_BY_DEPLOY', 'SEPARATE_BY_REQUEST', 'SPREAD_ALL_SLAVES'),
      ),
      map('requiredSlaveAttributes', 'Attributes that machines need, NAME=value a line'),
      map('allowedSlaveAttributes', 'Attributes that are let in, NAME=value a line'),
      check('rackSensitive', 'Spread over racks'),
      lines('rackAffinity', 'Racks, one a line'),
      check('hideEvenNumberAcrossRacksHint', 'No hint to spread evenly over racks'),
      check('allowBounceToSameHost', 'A restart may use the same machine', { when: longRunning }),
    ],
  },
  {
    title: 'Who may do what, mail, load balancer',
    fields: [
      lines('readWriteGroups', 'Groups that may change it, one a line'),
      lines('readOnlyGroups', 'Groups that may read it, one a line'),
      json('emailConfigurationOverrides', 'Who is sent which mail, as JSON'),
      check('loadBalanced', 'Behind the load balancer', balanced),
    ],
  },
];

export const deployGroups: readonly FieldGroup[] = [
  {
    title: 'Program',
    isOpen: true,
    fields: [
      text('id', 'Id', { help: 'Of this version; no other deploy of the request has it' }),
      text('command', 'Command'),
      lines('arguments', 'Arguments, one a line'),
      check('shell', 'By a shell'),
      text('containerInfo.docker.image', 'Image of a container'),
      number('resources.cpus', 'Cores', { placeholder: String(view.defaultCpus) }),
      number('resources.memoryMb', 'Memory in MB', { placeholder: String(view.defaultMemory) }),
      number('resources.diskMb', 'Disk in MB', { placeholder: String(view.defaultDisk) }),
      number('resources.numPorts', 'Ports', { placeholder: '0' }),
      map('env', 'Environment, NAME=value a line'),
      map('labels', 'Labels, NAME=value a line'),
    ],
  },
  {
    title: 'Health check',
    fields: [
      text('healthcheck.uri', 'Path', { placeholder: '/health' }),
      choice('healthcheck.protocol', 'Protocol', same('HTTP', 'HTTPS', 'HTTP2', 'HTTPS2')),
      choice('healthcheck.method', 'Method', same('GET', 'POST')),
      number('healthcheck.portIndex', 'Index of its port', { placeholder: '0' }),
      number('healthcheck.intervalSeconds', 'Seconds between two', {
        placeholder: String(view.defaultHealthcheckIntervalSeconds),
      }),
      number('healthcheck.responseTimeoutSeconds', 'Seconds for one', {
        placeholder: String(view.defaultHealthcheckTimeoutSeconds),
      }),
      number('healthcheck.startupTimeoutSeconds', 'Seconds until it has to listen', {
        placeholder: String(view.defaultStartupTimeoutSeconds),
      }),
      number('healthcheck.startupDelaySeconds', 'Seconds before the first'),
      number('healthcheck.startupIntervalSeconds', 'Seconds between two while it starts'),
      number('healthcheck.maxRetries', 'How many may fail', { placeholder: String(view.defaultHealthcheckMaxRetries) }),
      text('healthcheck.healthcheckResultFilePath', 'File in place of a call'),
      check('skipHealthchecksOnDeploy', 'Skip them for this deploy'),
      number('considerHealthyAfterRunningForSeconds', 'Without a check: healthy after seconds'),
      number('deployHealthTimeoutSeconds', 'Seconds until the deploy is overdue'),
    ],
  },
  {
    title: 'Steps',
    fields: [
      number('deployInstanceCountPerStep', 'Instances a step'),
      number('deployStepWaitTimeMs', 'Pause between steps in ms'),
      check('autoAdvanceDeploySteps', 'Advance by itself'),
      number('maxTaskRetries', 'Retries of a task'),
      json('canaryDeploySettings', 'Canary, as JSON'),
    ],
  },
  {
    title: 'Files, containers, own executor',
    fields: [
      json('uris', 'Files to fetch, as JSON'),
      json('containerInfo', 'Container, as JSON', { help: 'Image, network, volumes, port mappings, parameters' }),
      text('customExecutorCmd', 'Command of an own executor'),
      text('customExecutorId', 'Id of an own executor'),
      json('executorData', 'Data of the executor, as JSON', {
        help: 'Artifacts of all three kinds, user, limits, logs',
      }),
      json('runImmediately', 'Run at once after the deploy, as JSON'),
    ],
  },
  {
    title: 'Load balancer',
    fields: [
      text('serviceBasePath', 'Path of the service', balanced),
      lines('loadBalancerGroups', 'Groups, one a line', balanced),
      number('loadBalancerPortIndex', 'Index of its port', balanced),
      json('loadBalancerOptions', 'Options, as JSON', balanced),
    ],
  },
];
