import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cgroups } from '../../src/agent/cgroups/cgroups.js';
import { readMounts } from '../../src/agent/cgroups/mounts.js';
import { isTerminal } from '../../src/core/model/enums.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { Installation } from './support/product.js';

/* What a task that takes too much ends with, from the process on the machine to what callers are told. */

const installation = new Installation({
  settings: { checkJobsEveryMillis: 500 },
  local: { checkThreadsEveryMillis: 200 },
});
let api: Api;
beforeAll(async () => ({ api } = await installation.start(['start'])), 90_000);
afterAll(() => installation.dispose(), 90_000);

const limitsMemory = !Cgroups.probe(`muster-test-${process.pid}`, readMounts()).missing?.includes('memory');

interface Case {
  what: string;
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
  },
  {
    // The scheduler ends it, so it has not failed: what is told beside the end is why it had to go.
    what: 'time',
    request: { taskExecutionTimeLimitMillis: 1_500 },
    deploy: { command: 'exec sleep 600', resources: { cpus: 0.1, memoryMb: 64 } },
    state: 'TASK_KILLED',
    message: /^Killed gracefully, exit code 143/,
    failures: [],
  },
];

test.each(cases)(
  'a task that takes more $what than it may ends with its state, its reason, its message and its failure',
  async ({ what, request, deploy, state, reason, message, failures }) => {
    if (what === 'memory' && !limitsMemory) return console.log('Memory is not limited on this machine');
    await api.saveRequest({ id: what, requestType: 'RUN_ONCE', ...request });
    await api.deploy({ requestId: what, id: 'v1', ...deploy });
    const ended = await waitFor('the end of the task', async () => {
      const [task] = await api.endedTasks(what);
      return task?.lastTaskState && isTerminal(task.lastTaskState) && task;
    });
    const { taskUpdates } = await api.history(ended.taskId.id);
    expect(taskUpdates.at(-1)).toMatchObject({ taskState: state, statusMessage: expect.stringMatching(message) });
    expect(taskUpdates.at(-1)?.statusReason).toBe(reason);
    if (what === 'time')
      expect(taskUpdates.find(({ taskState }) => taskState === 'TASK_CLEANING')?.statusMessage).toMatch(
        /^TASK_EXCEEDED_TIME_LIMIT .*Ran for \d+ ms, more than the 1500 ms allowed/,
      );
    const { deployStatistics } = await api.deployHistory(what, 'v1');
    expect(deployStatistics?.taskFailureEvents.map(({ type }) => type)).toEqual(failures);
  },
  60_000,
);
