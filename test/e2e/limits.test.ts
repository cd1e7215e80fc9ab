import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cgroups } from '../../src/agent/cgroups/cgroups.js';
import { readMounts } from '../../src/agent/cgroups/mounts.js';
import { isTerminal } from '../../src/core/model/enums.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import type { TaskStatistics } from '../../src/cluster/cluster-driver.js';
import { image, type TestPodman, testPodman, withoutPodman } from '../support/podman.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

/* What a task that takes too much ends with, from the process on the machine to what callers are told. */

let podman: TestPodman | undefined;
let installation: Installation;
let api: Api;
beforeAll(async () => {
  podman = withoutPodman === undefined ? testPodman() : undefined;
  installation = new Installation({
    database: createDatabase,
    settings: { checkJobsEveryMillis: 500, cpuHardLimit: 1 },
    local: { checkThreadsEveryMillis: 200, ...(podman && { containers: podman.settings }) },
  });
  ({ api } = await installation.start(['start']));
}, 120_000);
afterAll(async () => {
  await installation.dispose();
  podman?.remove();
}, 90_000);

const { missing = '' } = Cgroups.probe(`muster-test-${process.pid}`, readMounts());
const [limitsMemory, limitsCpu] = ['memory', 'cpu'].map((what) => !missing.includes(`no ${what} `));

interface Case {
  what: string;
  /** Changes of the deploy in a container; absent: none. */
  inContainer?: Partial<Deploy>;
  request?: Partial<Request>;
  deploy: Partial<Deploy>;
  state: string;
  reason?: string;
  message: RegExp;
  failures: string[];
}

const cases: Case[] = [
  {
    what: 'memory',
    deploy: {
      command: `exec node -e 'const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))'`,
      resources: { cpus: 0.1, memoryMb: 120 },
    },
    state: 'TASK_FAILED',
    reason: 'REASON_CONTAINER_LIMITATION_MEMORY',
    message: /^Memory limit exceeded: 120 MB$/,
    failures: ['OOM'],
    // Its first process, which is ended before anything has looked at it.
    inContainer: {
      command: 'exec dd if=/dev/zero of=/dev/null bs=400M count=1',
      shell: true,
    },
  },
  {
    what: 'disk',
    deploy: {
      command: 'head -c 20000000 /dev/zero >file; exec sleep 600',
      resources: { cpus: 0.1, memoryMb: 64, diskMb: 5 },
    },
    state: 'TASK_FAILED',
    reason: 'REASON_CONTAINER_LIMITATION_DISK',
    message: /^Disk limit exceeded: 5 MB$/,
    failures: ['OUT_OF_DISK_SPACE'],
    inContainer: { command: 'head -c 20000000 /dev/zero >"$CLUSTER_SANDBOX/file"; exec sleep 600', shell: true },
  },
  {
    what: 'threads',
    deploy: {
      customExecutorCmd: '/usr/local/bin/executor',
      executorData: { cmd: `sh -c 'for i in 1 2 3 4 5; do sleep 600 & done; wait'`, maxTaskThreads: 3 },
      resources: { cpus: 0.1, memoryMb: 64 },
    },
    state: 'TASK_FAILED',
    reason: 'REASON_CONTAINER_LIMITATION',
    message: /^Killed for too many threads: 6, limit 3$/,
    failures: ['BAD_EXIT_CODE'],
    // Process 1 of a container does not mind SIGTERM unless it says so.
    inContainer: {
      executorData: {
        cmd: `sh -c 'for i in 1 2 3 4 5; do sleep 600 & done; wait'`,
        maxTaskThreads: 3,
        sigKillProcessesAfterMillis: 500,
      },
    },
  },
  {
    // The scheduler ends it, so it has not failed: what is told beside the end is why it had to go.
    what: 'time',
    request: { taskExecutionTimeLimitMillis: 1_500 },
    deploy: { command: 'exec sleep 600', resources: { cpus: 0.1, memoryMb: 64 } },
    inContainer: { command: `trap 'exit 143' TERM; sleep 600 & wait`, shell: true },
    state: 'TASK_KILLED',
    message: /^Killed gracefully, exit code 143/,
    failures: [],
  },
];

const check = async (id: string, { what, request, deploy, state, reason, message, failures }: Case) => {
  if (what === 'memory' && !limitsMemory) return console.log('Memory is not limited on this machine');
  await api.saveRequest({ id, requestType: 'RUN_ONCE', ...request });
  await api.deploy({ requestId: id, id: 'v1', ...deploy });
  const ended = await waitFor(
    'the end of the task',
    async () => {
      const [task] = await api.endedTasks(id);
      return task?.lastTaskState && isTerminal(task.lastTaskState) && task;
    },
    { timeoutMillis: 60_000 },
  );
  const { taskUpdates } = await api.history(ended.taskId.id);
  expect(taskUpdates.at(-1)).toMatchObject({ taskState: state, statusMessage: expect.stringMatching(message) });
  expect(taskUpdates.at(-1)?.statusReason).toBe(reason);
  if (what === 'time')
    expect(taskUpdates.find(({ taskState }) => taskState === 'TASK_CLEANING')?.statusMessage).toMatch(
      /^TASK_EXCEEDED_TIME_LIMIT .*Ran for \d+ ms, more than the 1500 ms allowed/,
    );
  const { deployStatistics } = await api.deployHistory(id, 'v1');
  expect(deployStatistics?.taskFailureEvents.map(({ type }) => type)).toEqual(failures);
};

test.each(cases)(
  'a task that takes more $what than it may ends with its state, its reason, its message and its failure',
  (each) => check(each.what, each),
  90_000,
);

const container: Deploy['containerInfo'] = { type: 'DOCKER', docker: { image, privileged: false, network: 'HOST' } };

describe.skipIf(withoutPodman !== undefined)(`in a container (${withoutPodman ?? 'podman'})`, () => {
  test.each(cases)(
    'a task that takes more $what than it may ends with the same state, reason, message and failure',
    ({ inContainer, deploy, ...each }) =>
      check(`${each.what}-in-container`, {
        ...each,
        deploy: { ...deploy, ...inContainer, containerInfo: container },
      }),
    120_000,
  );

  test(
    'a child that is ended for want of memory fails the task, whatever becomes of its parent',
    () =>
      check('child-in-container', {
        ...cases[0]!,
        deploy: {
          command: 'dd if=/dev/zero of=/dev/null bs=400M count=1; exit 9',
          shell: true,
          resources: { cpus: 0.1, memoryMb: 120 },
          containerInfo: container,
        },
      }),
    90_000,
  );
});

/** Ends when it is asked to: the first process of a container ignores what it has no trap for. */
const busy = `trap 'exit 0' TERM; for i in 1 2 3 4; do while :; do :; done & done; wait`;

test.each([
  { where: 'as processes', changes: { command: busy }, is: true },
  {
    where: 'in a container',
    changes: {
      command: busy,
      shell: true,
      containerInfo: container,
    },
    is: withoutPodman === undefined,
  },
])(
  'cpuHardLimit holds tasks back $where',
  async ({ where, changes, is }) => {
    if (!is || !limitsCpu)
      return console.log(`Not tried here: ${withoutPodman ?? 'cpus are not limited on this machine'}`);
    const id = where.replaceAll(' ', '-');
    await api.saveRequest({ id, requestType: 'WORKER', instances: 1 });
    await api.deploy({ requestId: id, id: 'v1', resources: { cpus: 0.5, memoryMb: 64 }, ...changes });
    const [task] = await api.running(id, 1, 60_000);
    const used = await waitFor(
      'periods of its limit',
      async () => {
        const figures = await api.get<TaskStatistics>(`tasks/task/${task!.taskId.id}/statistics`);
        // Without a limit the kernel counts none.
        return figures.cpusNrPeriods >= 20 && figures;
      },
      { timeoutMillis: 60_000, everyMillis: 200 },
    );
    const took = used.cpusUserTimeSecs + used.cpusSystemTimeSecs;
    // One core in each period of a tenth of a second; the first one or two are handed out before they are counted.
    expect(took).toBeLessThanOrEqual((used.cpusNrPeriods + 3) * 0.1);
    await api.call('DELETE', `requests/request/${id}`);
  },
  120_000,
);
