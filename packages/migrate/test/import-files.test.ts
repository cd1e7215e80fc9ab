import { describe, expect, test } from 'vitest';
import { readSchedule } from '../../../src/core/schedules/index.js';
import { validateRequest } from '../../../src/core/request-validation/index.js';
import { convertText } from '../src/import-files/import-files.js';
import { quantityOf } from '../../../src/core/kubernetes-quantity.js';
import { ruleOf } from '../src/import-files/repeating-interval.js';
import { testSettings } from '../../../test/support/test-settings.js';

const chronos = [
  {
    name: 'send report',
    parents: ['load', 'clean'],
    command: 'echo hi',
    owner: 'a@example.com, b@example.com',
    retries: 2,
    disabled: true,
    successCount: 7,
  },
  {
    name: 'load',
    schedule: 'R/2014-09-25T17:22:00Z/PT2H',
    scheduleTimeZone: 'Europe/Paris',
    epsilon: 'PT30M',
    command: 'load.sh',
    shell: false,
    arguments: ['--all'],
    cpus: 0.5,
    mem: 512,
    disk: 256,
    environmentVariables: [{ name: 'DAY', value: '1' }],
    constraints: [
      ['rack', 'EQUALS', 'r1'],
      ['rack', 'LIKE', 'r.*'],
    ],
    fetch: [{ uri: 'http://x/y.tgz', extract: true }],
  },
  {
    name: 'clean',
    schedule: 'R5//P1D',
    retries: 3,
    softError: true,
    command: 'run',
    container: {
      type: 'DOCKER',
      image: 'alpine:3',
      network: 'HOST',
      volumes: [{ containerPath: '/a', hostPath: '/b', mode: 'RW' }],
    },
  },
];

describe('jobs of Chronos', () => {
  const converted = convertText(JSON.stringify(chronos));
  const { limits } = { limits: { ...testSettings().cluster, ...testSettings() } };

  test('become requests, parents before those that follow them', () =>
    expect(converted.map(({ request }) => request)).toEqual([
      {
        id: 'load',
        requestType: 'SCHEDULED',
        scheduleType: 'RFC5545',
        schedule: 'DTSTART=20140925T172200 RRULE:FREQ=HOURLY;INTERVAL=2',
        scheduleTimeZone: 'Europe/Paris',
        missedRuns: { policy: 'SKIP', withinMillis: 1_800_000 },
        numRetriesOnFailure: 2,
        requiredSlaveAttributes: { rack: 'r1' },
      },
      {
        id: 'clean',
        requestType: 'SCHEDULED',
        scheduleType: 'RFC5545',
        schedule: 'RRULE:FREQ=DAILY;COUNT=5',
        numRetriesOnFailure: 3,
      },
      {
        id: 'send-report',
        requestType: 'ON_DEMAND',
        after: [
          { requestId: 'load', on: 'SUCCESS' },
          { requestId: 'clean', on: 'END' },
        ],
        owners: ['a@example.com', 'b@example.com'],
        numRetriesOnFailure: 2,
      },
    ]));
  test('keep to the rules of requests', () => {
    for (const { request } of converted) expect(validateRequest(request, { limits }), request.id).toEqual([]);
  });
  test('become deploys', () => {
    expect(converted[0]!.deploy).toMatchObject({
      command: 'load.sh',
      arguments: ['--all'],
      shell: false,
      resources: { cpus: 0.5, memoryMb: 512, diskMb: 256 },
      env: { DAY: '1' },
      uris: [{ uri: 'http://x/y.tgz', extract: true }],
    });
    expect(converted[1]!.deploy.containerInfo).toEqual({
      type: 'DOCKER',
      docker: { image: 'alpine:3', privileged: false, network: 'HOST' },
      volumes: [{ containerPath: '/a', hostPath: '/b', mode: 'RW' }],
    });
    expect(converted[2]!.deploy).toMatchObject({ command: 'echo hi', shell: true });
  });
  test('tell what was not taken', () =>
    expect(converted.map(({ notes }) => notes)).toEqual([
      [
        'the constraint ["rack","LIKE","r.*"] is not taken',
        'the first of its arguments is the name of the program there (argv[0]), and an argument like others here',
      ],
      [],
      [
        `its name is 'send report' there`,
        'it is disabled there: pause it',
        expect.stringContaining(`it never runs: 'load' and 'clean' begin different flows`),
      ],
    ]));
});

test.each([
  ['R/2020-01-01T00:00:00.000Z/P1M', 'FREQ=MONTHLY'],
  ['R//P1Y', 'FREQ=MONTHLY;INTERVAL=12'],
  ['R//P1W', 'FREQ=DAILY;INTERVAL=7'],
  ['R//PT1H30M', 'FREQ=MINUTELY;INTERVAL=90'],
  ['R3//PT45S', 'FREQ=SECONDLY;INTERVAL=45;COUNT=3'],
  ['R0//PT1H', undefined],
  ['R//P1MT1H', undefined],
  ['R//P', undefined],
  ['R/soon/P1D', undefined],
  ['0 0 * * *', undefined],
])('the schedule %s is the rule %s', (schedule, rule) => {
  const found = ruleOf(schedule);
  expect(found?.text).toBe(rule);
  if (found)
    expect(
      readSchedule({
        requestType: 'SCHEDULED',
        scheduleType: 'RFC5545',
        schedule: `RRULE:${found.text}`,
        id: 'x',
      } as never),
    ).not.toHaveProperty('errors');
});

test('a CronJob of Kubernetes becomes a job with its schedule', () => {
  const [job] = convertText(`
apiVersion: batch/v1
kind: CronJob
metadata: { name: backup }
spec:
  schedule: "30 4 * * *"
  timeZone: Europe/Paris
  concurrencyPolicy: Forbid
  suspend: true
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 600
      template:
        spec:
          restartPolicy: Never
          volumes: [{ name: data, emptyDir: {} }]
          containers:
            - name: main
              image: postgres:16
              command: [pg_dump, --all]
              args: [-v]
              env:
                - { name: HOST, value: db }
                - { name: PASSWORD, valueFrom: { secretKeyRef: { name: s, key: k } } }
              resources: { requests: { cpu: 100m, memory: 128Mi }, limits: { memory: 1Gi } }
            - name: sidecar
              image: x
`);
  expect(job).toEqual({
    request: {
      id: 'backup',
      requestType: 'SCHEDULED',
      schedule: '30 4 * * *',
      scheduleTimeZone: 'Europe/Paris',
      overlapPolicy: 'SKIP',
      retry: { attempts: 2, delayMillis: 10_000, backoffFactor: 2, maxDelayMillis: 360_000 },
      taskExecutionTimeLimitMillis: 600_000,
    },
    deploy: {
      requestId: 'backup',
      id: 'imported',
      command: 'pg_dump',
      arguments: ['--all', '-v'],
      env: { HOST: 'db' },
      resources: { cpus: 0.1, memoryMb: 1_024 },
      containerInfo: { type: 'DOCKER', docker: { image: 'postgres:16', privileged: false } },
    },
    notes: [
      'it is suspended there: pause it',
      'activeDeadlineSeconds is for all tries together there, and for each of them here',
      'the variable PASSWORD has no plain value',
      'resources.requests.memory is not taken: memoryMb is a limit here, and has that of resources.limits',
      'spec.jobTemplate.spec.template.spec.volumes is not taken',
      'spec.jobTemplate.spec.template.spec.containers.1 is not taken',
    ],
  });
});

describe('what a CronJob says of its runs', () => {
  const converted = (spec: object, job: object = {}) =>
    convertText(
      JSON.stringify({
        kind: 'CronJob',
        metadata: { name: 'x' },
        spec: {
          schedule: '0 3 * * *',
          timeZone: 'UTC',
          concurrencyPolicy: 'Forbid',
          ...spec,
          jobTemplate: { spec: withPods(job) },
        },
      }),
    )[0]!;
  const withPods = (job: object) => ({ ...job, template: { spec: { containers: [{ image: 'x' }] } } });
  const retry = { attempts: 6, delayMillis: 10_000, backoffFactor: 2, maxDelayMillis: 360_000 };
  const bounded = 'concurrencyPolicy Allow has no limit there: at most 10 runs at once (instances)';
  const usual = { overlapPolicy: 'SKIP', retry };
  test.each<{ spec: object; job?: object; is: object; notes?: string[] }>([
    { spec: {}, is: usual },
    { spec: { concurrencyPolicy: 'Replace' }, is: { overlapPolicy: 'REPLACE', retry } },
    { spec: { concurrencyPolicy: 'Allow' }, is: { overlapPolicy: 'ALLOW', instances: 10, retry }, notes: [bounded] },
    { spec: { concurrencyPolicy: undefined }, is: { overlapPolicy: 'ALLOW', instances: 10, retry }, notes: [bounded] },
    {
      spec: { startingDeadlineSeconds: 200 },
      is: { ...usual, missedRuns: { policy: 'SKIP', withinMillis: 200_000 } },
    },
    {
      spec: { startingDeadlineSeconds: 0 },
      is: usual,
      notes: ['startingDeadlineSeconds 0 is not taken: it leaves no time to start'],
    },
    { spec: { successfulJobsHistoryLimit: 5 }, is: { ...usual, keepRuns: { count: 6 } } },
    { spec: { failedJobsHistoryLimit: 4 }, is: { ...usual, keepRuns: { count: 7 } } },
    { spec: { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 }, is: { ...usual, keepRuns: { count: 1 } } },
    { spec: {}, job: { backoffLimit: 0 }, is: { overlapPolicy: 'SKIP', numRetriesOnFailure: 0 } },
  ])('in $spec', ({ spec, job, is, notes = [] }) => {
    const { request, notes: told } = converted(spec, job);
    const times = { schedule: '0 3 * * *', scheduleTimeZone: 'UTC' };
    expect(request).toEqual({ id: 'x', requestType: 'SCHEDULED', ...times, ...is });
    expect(told).toEqual(notes);
    const limits = { ...testSettings().cluster, ...testSettings() };
    expect(validateRequest(request, { limits })).toEqual([]);
  });
});

test.each([
  [{ concurrent: true }, { overlapPolicy: 'ALLOW', instances: 10 }, 'concurrent has no limit there'],
  [{ epsilon: 'P1DT1M' }, { missedRuns: { policy: 'SKIP', withinMillis: 86_460_000 } }, undefined],
  [{ epsilon: 'P1M' }, {}, `epsilon 'P1M' is not taken`],
  [{ epsilon: 'soon' }, {}, `epsilon 'soon' is not taken`],
])('a job of Chronos with %j has %j', (own, is, note) => {
  const [job] = convertText(JSON.stringify({ name: 'x', command: 'run', schedule: 'R//P1D', ...own }));
  const usual = {
    id: 'x',
    requestType: 'SCHEDULED',
    scheduleType: 'RFC5545',
    schedule: 'RRULE:FREQ=DAILY',
    numRetriesOnFailure: 2,
  };
  expect(job!.request).toEqual({ ...usual, ...is });
  expect(job!.notes).toEqual(note === undefined ? [] : [expect.stringContaining(note)]);
});

test.each([
  ['100m', 0.1],
  ['2', 2],
  ['1.5Gi', 1.5 * 1024 ** 3],
  ['1M', 1e6],
  ['1e3', 1_000],
  ['1E3', 1_000],
  ['2E', 2e18],
  ['500u', 0.0005],
  ['.5', 0.5],
  ['1Pi', 2 ** 50],
  ['0x10', undefined],
  ['lots', undefined],
  ['-1', undefined],
])('the quantity %s is %s', (written, value) => expect(quantityOf(written)).toBe(value));

test.each([
  ['nothing of the kind', '{"id": "web"}', 'there is no job of Chronos'],
  ['no YAML', 'a: [', 'Flow sequence'],
  [
    'two jobs of one id',
    JSON.stringify([
      { ...chronos[1], name: 'a b' },
      { ...chronos[1], name: 'a-b' },
    ]),
    `request 'a-b'`,
  ],
])('%s is refused', (_name, text, message) => expect(() => convertText(text)).toThrow(message));

test('what is no job beside jobs is left out, and said', () => {
  const notes: string[] = [];
  const jobs = convertText(JSON.stringify([chronos[1], { kind: 'Deployment' }, 'text']), (text) => notes.push(text));
  expect(jobs).toHaveLength(1);
  expect(notes).toEqual(['2 entries are neither jobs of Chronos nor CronJobs, and are left out']);
});
