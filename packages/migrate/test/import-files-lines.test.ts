import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { readDocuments } from '../../../src/cli/files/documents.js';
import { convertText, importFile } from '../src/import-files/import-files.js';
import { usualResources } from '../src/import-files/documents.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { testSettings } from '../../../test/support/test-settings.js';

/** Values that YAML takes for numbers and yes-or-no words, as the file has them. */
const spellings =
  '007 0o17 yes 1_000 1.10 1e3 0x1F True false 12345678901234567890 -0 +1 2026-01-31 12:30:45 off'.split(' ');

/** A CronJob whose container is this, in YAML. */
const cronJob = (container: string, spec = 'timeZone: UTC', more = ''): string => `
apiVersion: batch/v1
kind: CronJob
metadata: { name: x }
spec:
  schedule: "0 3 * * *"
  concurrencyPolicy: Forbid
  ${spec}
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          ${more}
          containers:
            - { name: main, image: app, ${container} }
`;
const only = (text: string) => convertText(text)[0]!;
const chronos = (...jobs: object[]) =>
  convertText(JSON.stringify(jobs.map((job) => ({ command: 'run', schedule: 'R//P1D', ...job }))));
const notesOf = (id: string, ...jobs: object[]) => chronos(...jobs).find(({ request }) => request.id === id)!.notes;

describe('texts come over with the spelling of the file', () => {
  test('in command, arguments and variables of a CronJob', () => {
    const env = spellings.map((value, index) => `{ name: V${index}, value: ${value} }`);
    const { deploy, notes } = only(
      cronJob(`command: [echo, 010], args: [${spellings.join(', ')}], env: [${env.join(', ')}]`),
    );
    expect([deploy.command, ...deploy.arguments!]).toEqual(['echo', '010', ...spellings]);
    expect(Object.values(deploy.env!)).toEqual(spellings);
    expect(notes).toEqual([]);
  });
  test('in names, which are numbers', () => {
    const text = cronJob('command: [run]').replace('name: x', 'name: 007');
    expect(only(text)).toMatchObject({ request: { id: '007' }, notes: [] });
    expect(chronos({ name: 7 })[0]!.request.id).toBe('7');
  });
  test('in JSON', () => {
    const [job] = convertText(`[{"name": "x", "command": "run", "schedule": "R//P1D", "shell": false,
      "arguments": ["a", 7, true, 1.10, "007"], "environmentVariables": [{"name": "A", "value": 1.10}]}]`);
    expect(job!.deploy).toMatchObject({ arguments: ['a', '7', 'true', '1.10', '007'], env: { A: '1.10' } });
  });
  test('in aliases', () => expect(only(cronJob('args: [&a 1.10, *a]')).deploy.arguments).toEqual(['1.10', '1.10']));
  test('and muster apply reads the same from what is printed', async () => {
    const folder = tempFolder();
    onTestFinished(folder.remove);
    const [from, to] = [join(folder.path, 'in.yaml'), join(folder.path, 'out.yaml')];
    const env = spellings.map((value, index) => `{ name: V${index}, value: ${value} }`);
    const text = cronJob(`args: [${spellings.join(', ')}], env: [${env.join(', ')}, { name: __proto__, value: a }]`);
    writeFileSync(from, text);
    let printed = '';
    const code = importFile(from, { out: (part) => (printed += part), note: () => undefined });
    expect(code).toBe(0);
    writeFileSync(to, printed);
    const { requests, deploys } = await readDocuments([to]);
    expect(requests[0]!.value).toMatchObject({ id: 'x', schedule: '0 3 * * *' });
    expect(deploys[0]!.value.deploy.arguments).toEqual(spellings);
    expect(Object.values(deploys[0]!.value.deploy.env!)).toEqual([...spellings, 'a']);
  });
  test.each([
    ['args: [a, ~]', /^line 16: .*args\.1 has no value/],
    ['args: [{ a: b }]', /containers\.0\.args\.0 must be a text/],
    ['args: date', /containers\.0\.args must be a list of texts/],
  ])('%s is refused', (container, message) => expect(() => only(cronJob(container))).toThrow(message));
  test('a name without a letter is refused', () =>
    expect(() => chronos({ name: '日報' })).toThrow(`no id can be made of the name '日報'`));
});

describe('a command of Chronos runs as there', () => {
  const container = { type: 'DOCKER', image: 'app' };
  const ignored = 'arguments is not taken: with shell, they have no effect there';
  test.each<{ job: object; is: object; note?: string }>([
    { job: { command: 'echo 1' }, is: { command: 'echo 1', shell: true } },
    { job: { command: 'echo 1', arguments: ['a'] }, is: { command: 'echo 1', shell: true }, note: ignored },
    {
      job: { command: 'echo 1', shell: true, arguments: ['a'] },
      is: { command: 'echo 1', shell: true },
      note: ignored,
    },
    { job: { command: 'while true; do date; done', container }, is: { shell: true } },
    { job: { command: 'date', shell: false }, is: { command: 'date', shell: false } },
    { job: { command: 'date', shell: 'false', container, arguments: ['-u'] }, is: { shell: false, arguments: ['-u'] } },
    { job: { command: 'date', shell: false, arguments: ['-u'] }, is: { arguments: ['-u'] }, note: 'argv[0]' },
    { job: { command: 'http://files/run.sh' }, is: { shell: true }, note: 'its command is an address' },
  ])('$job', ({ job, is, note }) => {
    const [{ deploy, notes }] = chronos({ name: 'x', ...job }) as [ReturnType<typeof only>];
    expect(deploy).toMatchObject(is);
    expect('arguments' in deploy).toBe('arguments' in is);
    expect(notes).toEqual(note === undefined ? [] : [expect.stringContaining(note)]);
  });
});

describe('parents', () => {
  const after = (name: string, ...parents: string[]) => ({ name, parents, schedule: undefined });
  const never = `it never runs: 'p' and 'q' begin different flows`;
  test.each<{ name: string; jobs: object[]; notes: unknown[] }>([
    {
      name: 'with schedules of their own',
      jobs: [{ name: 'p' }, { name: 'q' }],
      notes: [expect.stringContaining(never)],
    },
    { name: 'that follow one job', jobs: [{ name: 'root' }, after('p', 'root'), after('q', 'root')], notes: [] },
    { name: 'of which one follows the other', jobs: [{ name: 'p' }, after('q', 'p')], notes: [] },
    {
      name: 'whose first jobs differ',
      jobs: [{ name: 'a' }, { name: 'b' }, after('p', 'a'), after('q', 'b')],
      notes: [expect.stringContaining(never)],
    },
    {
      name: 'of which one never runs',
      jobs: [{ name: 'a' }, { name: 'b' }, { name: 'p' }, after('q', 'a', 'b')],
      notes: [`it never runs, because its parent 'q' never does`],
    },
    {
      name: 'of which one is not in the file',
      jobs: [{ name: 'p' }],
      notes: [`its parent 'q' is not in the file: muster apply needs this request`],
    },
  ])('$name', ({ jobs, notes }) => expect(notesOf('child', ...jobs, after('child', 'p', 'q'))).toEqual(notes));
  test('in a circle', () => {
    const jobs = [after('a', 'c'), after('b', 'a'), after('c', 'b'), after('d', 'a')];
    expect(notesOf('a', ...jobs)).toEqual(['a -> b -> c -> a is a circle: muster apply refuses it']);
    expect(notesOf('d', ...jobs)).toEqual([`it never runs, because its parent 'a' never does`]);
  });
  test('in a chain of 5,000 jobs, which is printed from its first one', () => {
    const names = Array.from({ length: 5_000 }, (_, number) => `j${number}`);
    const jobs = names.slice(1).map((name, index) => after(name, names[index]!));
    const converted = chronos(...jobs.toReversed(), { name: names[0]! });
    expect(converted.map(({ request }) => request.id)).toEqual(names);
    expect(converted.flatMap(({ notes }) => notes)).toEqual([]);
  });
  test('that are the job itself, or too many', () => {
    expect(notesOf('a', after('a', 'a'))).toContainEqual(expect.stringMatching(/^muster apply refuses it: .*itself/));
    const parents = Array.from({ length: 21 }, (_, number) => `p${number}`);
    const jobs = [{ name: 'r' }, ...parents.map((name) => after(name, 'r')), after('a', ...parents)];
    expect(notesOf('a', ...jobs)).toEqual([expect.stringMatching(/^muster apply refuses it: .*20/)]);
  });
});

describe('each member of a job of Chronos that is not imported has a line', () => {
  test.each<{ job: object; notes: string[] }>([
    {
      job: {
        successCount: 7,
        lastSuccess: '2026-01-01T00:00:00Z',
        errorsSinceLastSuccess: 0,
        async: false,
        highPriority: false,
        executor: '',
        uris: [],
        softError: false,
      },
      notes: [],
    },
    {
      job: { description: 'all', ownerName: 'me', async: true, highPriority: true, executor: 'e', unheardOf: 0 },
      notes: ['description', 'ownerName', 'async', 'highPriority', 'executor', 'unheardOf'],
    },
    {
      job: { container: { type: 'MESOS', image: 'app', network: 'USER', parameters: [{ key: 'a', value: 'b' }] } },
      notes: ['container.type', 'container.network', 'container.parameters'],
    },
    { job: { cpus: 'much', retries: 'often', schedule: 'R//P1D' }, notes: ['cpus', 'retries'] },
    { job: { parents: ['p'], epsilon: 'PT60S', concurrent: true }, notes: ['schedule', 'epsilon', 'concurrent'] },
    { job: { fetch: [{ uri: 'http://a/b', extract: false, mode: 1 }] }, notes: ['fetch.0.mode'] },
  ])('$job', ({ job, notes }) =>
    expect(notesOf('x', { name: 'p' }, { name: 'x', ...job }).toSorted()).toEqual(
      notes.map((path) => `${path} is not taken`).toSorted(),
    ),
  );
});

test.each([
  [{}, undefined, []],
  [{ cpus: 0, mem: 0, disk: 0 }, undefined, []],
  [{ cpus: '0.5', mem: '512' }, { cpus: 0.5, memoryMb: 512 }, []],
  [{ cpus: 0.5 }, { cpus: 0.5, memoryMb: 64 }, ['it names no memoryMb: 64, as usual here']],
  [{ mem: 128 }, { cpus: 1, memoryMb: 128 }, ['it names no cpus: 1, as usual here']],
])('a job of Chronos with %j has the resources %j', (job, resources, notes) => {
  const [converted] = chronos({ name: 'x', ...job });
  expect(converted!.deploy.resources).toEqual(resources);
  expect('resources' in converted!.deploy).toBe(resources !== undefined);
  expect(converted!.notes).toEqual(notes);
});
test('the resources of a deploy without any are those of the settings', () => {
  const { defaultCpus, defaultMemory } = testSettings().cluster;
  expect(usualResources).toEqual({ cpus: defaultCpus, memoryMb: defaultMemory });
});

test.each([
  ['R/2026-01-31T00:00:00Z/P1M', undefined, 31],
  ['R/2026-01-30T00:00:00Z/P2M', undefined, 30],
  ['R/2028-02-29T00:00:00Z/P1Y', undefined, 29],
  ['R/2026-01-28T00:00:00Z/P1M', undefined, undefined],
  ['R/2026-01-31T00:00:00Z/P1D', undefined, undefined],
  ['R/2026-01-28T23:00:00-05:00/P1M', undefined, 29],
  ['R/2026-01-28T23:00:00-05:00/P1M', 'America/New_York', undefined],
])('%s in the zone %s has a line about the day %s', (schedule, scheduleTimeZone, day) =>
  expect(notesOf('x', { name: 'x', schedule, scheduleTimeZone })).toEqual(
    day === undefined ? [] : [`months without a day ${day} have no run; there they have one on an earlier day`],
  ),
);

describe('a start without an offset', () => {
  const { TZ } = process.env;
  afterEach(() => {
    if (TZ === undefined) delete process.env['TZ'];
    else process.env['TZ'] = TZ;
  });
  test('is in UTC, whatever the zone of the machine is', () => {
    process.env['TZ'] = 'America/New_York';
    const [job] = chronos({ name: 'x', schedule: 'R/2026-01-28T05:00:00/P1D' });
    expect(job!.request.schedule).toBe('DTSTART=20260128T050000 RRULE:FREQ=DAILY');
  });
});

describe('each member of a CronJob that is not imported has a line', () => {
  const ofPod = 'spec.jobTemplate.spec.template.spec';
  test('wherever it is', () => {
    const text = `
apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly.report
  namespace: jobs
  labels: { team: a }
  annotations: { kubectl.kubernetes.io/last-applied-configuration: "{}", owner: me }
  uid: 5d1e
  resourceVersion: "7"
  generation: 1
  creationTimestamp: "2026-01-01T00:00:00Z"
  managedFields: [{ manager: kubectl }]
spec:
  schedule: "0 3 * * *"
  concurrencyPolicy: Forbid
  suspend: false
  jobTemplate:
    metadata: { labels: { a: b } }
    spec:
      backoffLimit: 0
      ttlSecondsAfterFinished: 60
      completionMode: NonIndexed
      podFailurePolicy: { rules: [] }
      template:
        metadata: { creationTimestamp: null, annotations: { a: b } }
        spec:
          restartPolicy: OnFailure
          serviceAccountName: reporter
          automountServiceAccountToken: false
          securityContext: { runAsUser: 1000 }
          dnsPolicy: ClusterFirst
          schedulerName: default-scheduler
          terminationGracePeriodSeconds: 90
          nodeSelector: {}
          initContainers: [{ name: i, image: i }]
          containers:
            - name: main
              image: app
              imagePullPolicy: Never
              workingDir: /srv
              securityContext: {}
              livenessProbe: { exec: { command: [a] } }
              volumeMounts: [{ name: a, mountPath: /a }]
              envFrom: [{ configMapRef: { name: c } }]
              resources: { limits: { cpu: 2, memory: 1Gi, gpu: 1 }, requests: { cpu: 100m } }
              terminationMessagePath: /dev/termination-log
              terminationMessagePolicy: File
            - { name: sidecar, image: s }
status: { lastScheduleTime: "2026-01-01T03:00:00Z" }
`;
    const { request, deploy, notes } = only(text);
    expect(request.id).toBe('nightly-report');
    expect(deploy.resources).toEqual({ cpus: 0.1, memoryMb: 1_024 });
    expect(notes.toSorted()).toEqual(
      [
        `its name is 'nightly.report' there`,
        'it has no timeZone: its schedule is in the zone of the control plane there, and in UTC here',
        'restartPolicy OnFailure is not taken: each try is a task of its own, as with Never',
        ...[
          'metadata.namespace',
          'metadata.labels',
          'metadata.annotations.owner',
          'spec.jobTemplate.metadata',
          'spec.jobTemplate.spec.ttlSecondsAfterFinished',
          'spec.jobTemplate.spec.podFailurePolicy',
          'spec.jobTemplate.spec.template.metadata',
          `${ofPod}.serviceAccountName`,
          `${ofPod}.automountServiceAccountToken`,
          `${ofPod}.securityContext`,
          `${ofPod}.terminationGracePeriodSeconds`,
          `${ofPod}.initContainers`,
          `${ofPod}.containers.0.imagePullPolicy`,
          `${ofPod}.containers.0.workingDir`,
          `${ofPod}.containers.0.livenessProbe`,
          `${ofPod}.containers.0.volumeMounts`,
          `${ofPod}.containers.0.envFrom`,
          `${ofPod}.containers.0.resources.limits.cpu`,
          `${ofPod}.containers.0.resources.limits.gpu`,
          `${ofPod}.containers.1`,
        ].map((path) => `${path} is not taken`),
      ].toSorted(),
    );
  });
  test('a member of another kind than it should be, too', () => {
    expect(only(cronJob('command: [a]', 'startingDeadlineSeconds: soon')).notes).toContain(
      'spec.startingDeadlineSeconds is not taken',
    );
    expect(only(cronJob('command: [a]', 'timeZone: UTC', 'securityContext: 7')).notes).toEqual([
      `${ofPod}.securityContext is not taken`,
    ]);
  });
});

test.each([
  ['0 25 * * *', `muster apply refuses it: schedule: hours: '25' must be 0 to 23`],
  ['TZ=Europe/Paris 0 3 * * *', 'scheduleTimeZone Europe/Paris'],
  ['@every 1h30m', `muster apply refuses it: schedule: '@every 1h30m' is no cron schedule`],
  ['0 3 1 * MON', 'restricts both day of month and day of week'],
])('the schedule %s of a CronJob has a line', (schedule, note) =>
  expect(only(cronJob('command: [a]').replace('0 3 * * *', schedule)).notes).toEqual([expect.stringContaining(note)]),
);
test('a zone that there is not has a line, in both formats', () => {
  const message = expect.stringMatching(/^muster apply refuses it: .*'Mars\/Base' is not a known time zone/) as unknown;
  expect(only(cronJob('command: [a]', 'timeZone: Mars/Base')).notes).toEqual([message]);
  expect(notesOf('x', { name: 'x', scheduleTimeZone: 'Mars/Base' })).toEqual([message]);
});

const enforced = 'resources.requests.memory is not taken: memoryMb is a limit here, and has that of resources.limits';
const unlimited = 'it has no limit of memory there; memoryMb 128, which it requests, is one here';
test.each([
  ['requests: { cpu: 1, memory: 128Mi }, limits: { memory: 1Gi }', { cpus: 1, memoryMb: 1_024 }, [enforced]],
  ['requests: { cpu: 1, memory: 128Mi }, limits: { memory: 128Mi }', { cpus: 1, memoryMb: 128 }, []],
  ['requests: { cpu: 1, memory: 128Mi }', { cpus: 1, memoryMb: 128 }, [unlimited]],
  ['limits: { cpu: 1, memory: 128Mi }', { cpus: 1, memoryMb: 128 }, []],
  [
    'limits: { cpu: 1e3m, memory: 128Mi }',
    { cpus: 1, memoryMb: 128 },
    [`cpu '1e3m' is no quantity`, 'it names no cpus: 1, as usual here'],
  ],
  [
    'limits: { memory: 128Mi, ephemeral-storage: 1Gi }',
    { cpus: 1, memoryMb: 128, diskMb: 1_024 },
    ['it names no cpus: 1, as usual here'],
  ],
  ['limits: {}', undefined, []],
])('the resources %s of a container are %j', (resources, is, notes) => {
  const job = only(cronJob(`resources: { ${resources} }`));
  expect(job.deploy.resources).toEqual(is);
  expect(job.notes).toEqual(notes);
});

describe('references of a CronJob to variables', () => {
  const hello = '{ name: WHO, value: you }, { name: TEXT, value: hello $(WHO) }';
  const replaced = (name: string) => `$(${name}) is replaced by the value that ${name} has in the file`;
  test('are replaced as there', () => {
    const { deploy, notes } = only(cronJob(`command: [echo, $(TEXT)], args: ["$$(WHO) $(date) $"], env: [${hello}]`));
    expect(deploy).toMatchObject({
      arguments: ['hello you', '$(WHO) $(date) $'],
      env: { WHO: 'you', TEXT: 'hello you' },
    });
    expect(notes).toEqual([replaced('WHO'), replaced('TEXT')]);
  });
  test('without a value in the file they have a line', () => {
    const env = '{ name: KEY, valueFrom: { secretKeyRef: { name: s, key: k } } }';
    const { deploy, notes } = only(cronJob(`args: ["$(KEY)"], env: [${env}]`));
    expect(deploy.arguments).toEqual(['$(KEY)']);
    expect(notes).toEqual([
      'the variable KEY has no plain value',
      '$(KEY) is not replaced: the file has no value of KEY',
    ]);
  });
  test('a variable with its name alone is empty', () =>
    expect(only(cronJob('env: [{ name: A }, { name: B, value: "" }, { name: C, value: }]'))).toMatchObject({
      deploy: { env: { A: '', B: '', C: '' } },
      notes: [],
    }));
});
