import { describe, expect, test } from 'vitest';
import type { Deploy } from '../model/deploy.js';
import type { RequestType } from '../model/enums.js';
import type { PendingTask, RunOrigin } from '../model/task.js';
import { makePendingTaskId, makeTaskId } from '../task-id.js';
import { launchedText, planLaunch, taskRecord, type LaunchInput, type LaunchRules } from './index.js';

const place = { slaveId: 's1', incarnation: 'i1', hostname: 'my-host', rackId: 'rack-1' };
const taskId = makeTaskId({
  requestId: 'svc',
  deployId: 'd1',
  startedAt: 5,
  instanceNo: 2,
  host: 'my-host',
  rackId: 'rack-1',
});
const rules: LaunchRules = { killGraceMillis: 1_000, cpuHardLimitScaleFactor: 1.25 };

const input = (
  deploy: Partial<Deploy> = {},
  pending: Partial<PendingTask> = {},
  own: Partial<LaunchInput> = {},
): LaunchInput => ({
  taskId,
  place,
  request: { id: 'svc', requestType: 'SERVICE', instances: 3 },
  deploy: { requestId: 'svc', id: 'd1', command: 'run', ...deploy },
  pending: {
    pendingTaskId: makePendingTaskId({
      requestId: 'svc',
      deployId: 'd1',
      nextRunAt: 4,
      instanceNo: 2,
      pendingType: 'BOUNCE',
      createdAt: 3,
    }),
    ...pending,
  },
  ports: [],
  own: { cpus: 1, memoryMb: 64, diskMb: 0, numPorts: 0 },
  needed: { cpus: 1, memoryMb: 64, diskMb: 0 },
  ...own,
});
const plan = (...parts: Parameters<typeof input>) => planLaunch(input(...parts), rules);

describe('environment', () => {
  test('placeholders are the names that are known, and none that every object has', () => {
    const env = JSON.parse('{"A": "${constructor} ${toString} ${__proto__}", "__proto__": "own"}') as object;
    const { environment } = plan({ env: { ...env } as Record<string, string> });
    expect(environment['A']).toBe('${constructor} ${toString} ${__proto__}');
    expect(Object.getOwnPropertyDescriptor(environment, '__proto__')?.value).toBe('own');
  });

  test('says where and what the task is', () =>
    expect(plan().environment).toEqual({
      INSTANCE_NO: '2',
      TASK_HOST: 'my-host',
      TASK_RACK_ID: 'rack-1',
      AVAILABILITY_ZONE: 'rack-1',
      TASK_REQUEST_ID: 'svc',
      TASK_DEPLOY_ID: 'd1',
      TASK_ID: 'svc-d1-5-2-my_host-rack_1',
      ESTIMATED_INSTANCE_COUNT: '3',
    }));

  describe('of a run', () => {
    const ofRun = (requestType: RequestType, pending: Partial<PendingTask>): Record<string, string> => {
      const { environment } = plan({}, pending, { request: { id: 'svc', requestType } });
      return Object.fromEntries(Object.entries(environment).filter(([name]) => runNames.has(name)));
    };
    const runNames = new Set(
      ['RUN_ID', 'SCHEDULED_AT', 'ATTEMPT', 'TRIGGER', 'FLOW_ID', 'PARENT_RUNS'].map((name) => `TASK_${name}`),
    );
    const origin: RunOrigin = {
      trigger: 'RETRY',
      scheduledAt: Date.UTC(2027, 0, 31, 4),
      attempt: 3,
      flowId: 'f1',
      parentRuns: ['load-d1-1-1-h-r', 'check-d1-1-1-h-r'],
    };

    test('tells all that is known of it', () =>
      expect(ofRun('ON_DEMAND', { runId: 'r 1', ...origin })).toEqual({
        TASK_RUN_ID: 'r 1',
        TASK_SCHEDULED_AT: '2027-01-31T04:00:00.000Z',
        TASK_ATTEMPT: '3',
        TASK_TRIGGER: 'RETRY',
        TASK_FLOW_ID: 'f1',
        TASK_PARENT_RUNS: 'load-d1-1-1-h-r check-d1-1-1-h-r',
      }));
    test('a run that nobody named has the id of its time, the same in each try', () => {
      const scheduledAt = Date.UTC(2027, 0, 31, 4);
      const ids = [{}, { attempt: 2, trigger: 'RETRY' as const }].map(
        (own) => ofRun('SCHEDULED', { scheduledAt, trigger: 'SCHEDULE', ...own })['TASK_RUN_ID'],
      );
      expect(ids).toEqual([`svc-${scheduledAt}`, `svc-${scheduledAt}`]);
    });
    test('the run of a RUN_ONCE request has the id of its deploy', () =>
      expect(ofRun('RUN_ONCE', {})).toEqual({ TASK_RUN_ID: 'svc-d1', TASK_ATTEMPT: '1' }));
    test.each(['SERVICE', 'WORKER'] as const)('is not told to a task of type %s', (type) =>
      expect(ofRun(type, { runId: 'r1', ...origin })).toEqual({}),
    );
    test('gives way to the deploy', () =>
      expect(
        plan({ env: { TASK_TRIGGER: 'own' } }, origin, { request: { id: 'svc', requestType: 'ON_DEMAND' } })
          .environment,
      ).toMatchObject({ TASK_TRIGGER: 'own' }));
  });

  test('values of secrets win over variables, but not over those of a run', () => {
    const [a, b] = ['A', 'TASK_ID'].map((name) => ({ name, secret: 's', key: 'k' }));
    const group = { request: { id: 'svc', requestType: 'ON_DEMAND' as const, group: 'g' } };
    const launch = plan({ secretEnv: [a!, b!] }, { envOverrides: { A: 'of the run' } }, group);
    expect(launch).toMatchObject({ secretEnvironment: [b], group: 'g', environment: { A: 'of the run' } });
    expect(launch.environment).not.toHaveProperty('TASK_ID');
    expect(plan({ secretEnv: [a!] }, { envOverrides: { A: '' } }, group)).not.toHaveProperty('secretEnvironment');
    expect(plan({}, {}, group)).not.toHaveProperty('group');
  });

  interface Case {
    name: string;
    deploy?: Partial<Deploy>;
    pending?: Partial<PendingTask>;
    own?: Partial<LaunchInput>;
    is: Record<string, string | undefined>;
  }
  test.each<Case>([
    { name: 'the deploy may override it', deploy: { env: { TASK_HOST: 'x' } }, is: { TASK_HOST: 'x' } },
    {
      name: 'the variables of the instance win over those of the deploy',
      deploy: { env: { A: '1', B: '1' }, taskEnv: { 2: { A: '2' }, 3: { A: '3' } } },
      is: { A: '2', B: '1' },
    },
    {
      name: 'placeholders are filled',
      deploy: { env: { A: '${TASK_ID}/${TASK_INSTANCE_NO}/${TASK_STARTED_AT}/${TASK_HOST}/${OTHER}' } },
      is: { A: 'svc-d1-5-2-my_host-rack_1/2/5/my-host/${OTHER}' },
    },
    {
      name: 'those of a run are taken as they are',
      pending: { envOverrides: { A: '${TASK_ID}' } },
      is: { A: '${TASK_ID}' },
    },
    {
      name: 'a run wins over ports and deploy',
      deploy: { env: { A: '1' } },
      pending: { envOverrides: { A: '2', PORT: '9' } },
      own: { ports: [31_000], own: { cpus: 1, memoryMb: 1, diskMb: 0, numPorts: 1 } },
      is: { A: '2', PORT: '9', PORT0: '31000' },
    },
    {
      name: 'who started it cannot be hidden',
      pending: { user: 'me', envOverrides: { STARTED_BY_USER: 'you' } },
      is: { STARTED_BY_USER: 'me' },
    },
    {
      name: 'resources of a run are told, truncated',
      pending: { resources: { cpus: 2.5, memoryMb: 100 } },
      is: { DEPLOY_CPUS: '2', DEPLOY_MEM: '100' },
    },
    {
      name: 'resources of the deploy are not',
      deploy: { resources: { cpus: 2.5, memoryMb: 100 } },
      is: { DEPLOY_CPUS: undefined, DEPLOY_MEM: undefined },
    },
    {
      name: 'null leaves a variable out',
      deploy: { env: { TASK_HOST: null as unknown as string } },
      is: { TASK_HOST: undefined },
    },
    {
      name: 'literal host ports are not among the numbered ones',
      own: { ports: [31_000, 80], own: { cpus: 1, memoryMb: 1, diskMb: 0, numPorts: 1 } },
      is: { PORT: '31000', PORT0: '31000', PORT1: undefined },
    },
  ])('$name', ({ deploy, pending, own, is }) => {
    const { environment } = plan(deploy, pending, own);
    for (const [name, value] of Object.entries(is)) expect(environment[name]).toBe(value);
  });
});

describe('command', () => {
  const executorData = {
    cmd: 'serve',
    extraCmdLineArgs: ['-a'],
    user: 'www',
    successfulExitCodes: [3],
    sigKillProcessesAfterMillis: 7,
  };
  test.each([
    { name: 'a line for the shell', deploy: {}, run: undefined, is: { shell: true, value: 'run', arguments: [] } },
    {
      name: 'a program when there are arguments',
      deploy: { arguments: ['a'] },
      run: undefined,
      is: { shell: false, value: 'run', arguments: ['a'] },
    },
    {
      name: 'a program when a run brings some',
      deploy: {},
      run: ['b'],
      is: { shell: false, value: 'run', arguments: ['b'] },
    },
    {
      name: 'what the deploy says',
      deploy: { shell: true, arguments: ['a'] },
      run: ['b'],
      is: { shell: true, value: 'run', arguments: ['a', 'b'] },
    },
    {
      name: 'no shell for a container',
      deploy: { containerInfo: { type: 'DOCKER' as const, docker: { image: 'app', privileged: false } } },
      run: undefined,
      is: { shell: false, value: 'run', arguments: [] },
    },
    {
      name: 'the one of the executor',
      deploy: { command: undefined, executorData, arguments: ['c'] },
      run: ['b'],
      is: { shell: true, value: 'serve', arguments: ['-a', 'c', 'b'] },
    },
  ])('$name', ({ deploy, run, is }) => expect(plan(deploy, { cmdLineArgsList: run }).command).toEqual(is));

  test('what an executor is told beside it', () =>
    expect(
      plan({ executorData, user: 'other', uris: [{ uri: 'u' }] }, { extraArtifacts: [{ uri: 'x' }] }),
    ).toMatchObject({
      user: 'www',
      successfulExitCodes: [3],
      killGraceMillis: 7,
      artifacts: [{ uri: 'u' }, { uri: 'x' }],
    }));
  test('a run may name another user and more artifacts', () =>
    expect(
      plan({ user: 'a', uris: [{ uri: 'u' }] }, { runAsUserOverride: 'b', extraArtifacts: [{ uri: 'x' }] }),
    ).toMatchObject({
      user: 'b',
      artifacts: [{ uri: 'u' }, { uri: 'x' }],
      killGraceMillis: 1_000,
      successfulExitCodes: [],
    }));
  test.each(['drain', '/drain'])('a call before its end is one of a path: %s', (uri) =>
    expect(
      plan(
        { preStop: { http: { uri, portIndex: 1 } } },
        {},
        {
          ports: [31_000, 31_001],
          own: { cpus: 1, memoryMb: 64, diskMb: 0, numPorts: 2 },
        },
      ),
    ).toMatchObject({
      preStop: { http: { uri: '/drain', port: 31_001 } },
    }),
  );

  test('programs around the main one get what its own command and variables get', () => {
    const { programs } = plan({
      tasks: {
        init: [{ name: 'a', command: 'echo hi; exit 0', env: { ID: '${TASK_REQUEST_ID}' } }],
        sidecars: [
          { name: 'b', command: 'proxy', arguments: ['--port', '1'], resources: { cpus: 0.5 } },
          { name: 'c', command: 'true' },
        ],
        post: [{ name: 'd', command: 'true', timeoutMillis: 7 }],
      },
    });
    expect(programs).toEqual({
      init: [
        {
          name: 'a',
          command: { shell: true, value: 'echo hi; exit 0', arguments: [] },
          environment: { ID: plan().requestId },
          timeoutMillis: 300_000,
        },
      ],
      sidecars: [
        {
          name: 'b',
          command: { shell: false, value: 'proxy', arguments: ['--port', '1'] },
          environment: {},
          cpus: 0.5,
          memoryMb: 0,
        },
        { name: 'c', command: { shell: true, value: 'true', arguments: [] }, environment: {}, cpus: 0, memoryMb: 0 },
      ],
      post: [{ name: 'd', command: { shell: true, value: 'true', arguments: [] }, environment: {}, timeoutMillis: 7 }],
    });
    expect(plan()).not.toHaveProperty('programs');
  });

  test('a hard limit is in whole cores', () => {
    const limited = (cpus: number) =>
      planLaunch(input({}, {}, { own: { cpus, memoryMb: 1, diskMb: 0, numPorts: 0 } }), { ...rules, cpuHardLimit: 2 })
        .cpuHardLimit;
    expect([limited(0.5), limited(1.7), limited(4)]).toEqual([2, 3, 5]);
    expect(plan().cpuHardLimit).toBeUndefined();
  });
  test('a health file counts only where health is looked at', () => {
    const healthcheck = { healthcheckResultFilePath: 'ok', intervalSeconds: 2, maxRetries: 5 };
    expect(plan({ healthcheck }).healthcheckResultFile).toEqual({ path: 'ok', intervalSeconds: 2, timeoutSeconds: 40 });
    expect(plan({ healthcheck }, { skipHealthchecks: true }).healthcheckResultFile).toBeUndefined();
  });

  test('a running sentinel is a health file where the settings say so, and there is no other', () => {
    const honored = { ...rules, honorRunningSentinel: true };
    const fileOf = (deploy: Partial<Deploy>, by: LaunchRules = honored, pending: Partial<PendingTask> = {}) =>
      planLaunch(input({ executorData: { cmd: 'x', runningSentinel: 'up' }, ...deploy }, pending), by)
        .healthcheckResultFile;
    expect(fileOf({})).toEqual({ path: 'up', intervalSeconds: 5, timeoutSeconds: 60 });
    expect(fileOf({ healthcheck: { healthcheckResultFilePath: 'ok' } })?.path).toBe('ok');
    expect(fileOf({}, honored, { skipHealthchecks: true })).toBeUndefined();
    expect(fileOf({}, rules)).toBeUndefined();
  });
});

describe('task record', () => {
  test('shows machine, ports, labels and the deploy without the data of its executor', () => {
    const given = input(
      {
        customExecutorCmd: 'x',
        executorData: { cmd: 'serve' },
        clusterLabels: [{ key: 'a', value: 'b' }],
        clusterTaskLabels: { 2: [{ key: 'c', value: 'd' }], 1: [{ key: 'e', value: 'f' }] },
        containerInfo: {
          type: 'MESOS',
          volumes: [
            {
              containerPath: '/x/${TASK_INSTANCE_NO}',
              source: { type: 'DOCKER_VOLUME', dockerVolume: { name: 'v%i' } },
            },
          ],
        },
      },
      { user: 'me', message: 'why' },
      { ports: [31_000, 31_001, 31_005] },
    );
    const record = taskRecord(given, planLaunch(given, rules));
    expect(record.taskRequest.deploy.executorData).toBeUndefined();
    const whole = taskRecord(given, planLaunch(given, rules), true);
    expect(whole).toEqual({ ...record, taskRequest: { ...record.taskRequest, deploy: given.deploy } });
    expect(whole.taskRequest.deploy.executorData).toBeDefined();
    expect(record).toMatchObject({
      taskId: { id: taskId.id },
      rackId: 'rack-1',
      offer: { agentId: { value: 's1' }, slaveId: { value: 's1' }, hostname: 'my-host' },
      offers: [{ agentId: { value: 's1' }, slaveId: { value: 's1' }, frameworkId: { value: 'muster' } }],
      clusterTask: {
        agentId: { value: 's1' },
        slaveId: { value: 's1' },
        name: 'svc',
        labels: {
          labels: [
            { key: 'a', value: 'b' },
            { key: 'c', value: 'd' },
          ],
        },
        resources: [
          {
            name: 'ports',
            ranges: {
              range: [
                { begin: 31_000, end: 31_001 },
                { begin: 31_005, end: 31_005 },
              ],
            },
          },
          { name: 'cpus', scalar: { value: 1 } },
          { name: 'mem', scalar: { value: 64 } },
        ],
        container: { volumes: [{ containerPath: '/x/2', mode: 'RO', source: { dockerVolume: { name: 'v2' } } }] },
      },
    });
    expect(launchedText(given.pending)).toBe('BOUNCE by me - why');
  });
});

describe('what is uploaded of a task', () => {
  const executorData = { cmd: 'x', loggingTag: 'tagged' };
  const uploads = {
    files: [{ filename: 'service.log' }],
    bucket: 'main',
    allowedBuckets: ['shared'],
    groupBuckets: { payments: 'theirs' },
    keyPattern: '%requestId/%group/%tag/%deployId/%host/%Y/%taskId_%index-%filename',
  };
  const id = 'svc-d1-5-2-my_host-rack_1';

  test('are the files of every task, of the run and of the deploy, under keys that know the task', () => {
    const given = input(
      {
        executorData,
        objstoreUploaderAdditionalFiles: [{ filename: 'c', objstoreUploaderKeyPattern: '%requestId/c/%taskId/%s' }],
      },
      { objstoreUploaderAdditionalFiles: [{ filename: 'b' }] },
    );
    expect(planLaunch(given, { ...rules, uploads }).uploads).toEqual({
      files: [
        { filename: 'service.log' },
        { filename: 'b' },
        { filename: 'c', objstoreUploaderKeyPattern: `svc/c/${id}/%s` },
      ],
      bucket: 'main',
      keyPattern: `svc/default/tagged/d1/my_host/%Y/${id}_%index-%filename`,
    });
  });

  test('a group may have a bucket of its own', () => {
    const request = { id: 'svc', requestType: 'SERVICE' as const, group: 'payments' };
    const plan = planLaunch(input({ executorData }, {}, { request }), { ...rules, uploads });
    expect([plan.uploads?.bucket, plan.uploads?.keyPattern?.split('/')[1]]).toEqual(['theirs', 'payments']);
  });

  test.each(['__proto__', 'constructor', 'toString'])('a group named %s has none of its own', (group) => {
    const request = { id: 'svc', requestType: 'SERVICE' as const, group };
    const planned = planLaunch(input({ executorData }, {}, { request }), { ...rules, uploads });
    expect(planned.uploads?.bucket).toBe('main');
  });

  test('nothing where there is nothing to upload', () => {
    expect(plan({ executorData }).uploads).toBeUndefined();
    expect(planLaunch(input(), { ...rules, uploads }).uploads).toMatchObject({ bucket: 'main' });
  });

  test.each([
    [
      'among the logs of another request',
      { objstoreUploaderKeyPattern: 'other/%Y/%m/other-d1-1-1-h-r_0-1-service.log' },
    ],
    ['among those of a request that begins the same', { objstoreUploaderKeyPattern: '%requestId-api/%taskId' }],
    ['below nothing', { objstoreUploaderKeyPattern: '%filename' }],
    ['in the bucket of another group', { objstoreUploaderBucket: 'theirs' }],
    ['in any other bucket', { objstoreUploaderBucket: 'payroll' }],
  ])('what a deploy wants to put %s goes where all goes', (_where, wanted) => {
    const file = { filename: 'x', objstoreUploaderFilenameHint: 'x' };
    const given = input({ executorData, objstoreUploaderAdditionalFiles: [{ ...file, ...wanted }] });
    expect(planLaunch(given, { ...rules, uploads }).uploads?.files).toEqual([{ filename: 'service.log' }, file]);
  });

  test('a deploy may name a bucket that the settings allow', () => {
    const file = { filename: 'x', objstoreUploaderBucket: 'shared' };
    const given = input({ executorData, objstoreUploaderAdditionalFiles: [file] });
    expect(planLaunch(given, { ...rules, uploads }).uploads?.files[1]).toEqual(file);
  });
});
