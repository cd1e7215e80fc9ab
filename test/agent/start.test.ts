import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutorData } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';

const isRoot = userInfo().uid === 0;
const extraScriptContent = `echo "chatter of $TASK_ID in $(pwd)"
export FROM_EXTRA="$GREETING" # the last line has no end`;

let cluster: AgentCluster;
beforeAll(async () => {
  cluster = await AgentCluster.start({
    settings: {
      sandboxEnvPrefix: 'OLDER',
      extraScriptContent,
      maxTaskThreads: 4,
      checkThreadsEveryMillis: 100,
      ...(isRoot && { defaultRunAsUser: 'nobody', allowedRunUsers: ['daemon'] }),
    },
  });
});
afterAll(() => cluster.close());

const managed = (data: ExecutorData, changes: Partial<LaunchSpec> = {}): Partial<LaunchSpec> => ({
  executorData: data,
  command: { shell: true, value: data.cmd, arguments: [] },
  ...changes,
});
const inArea = (spec: LaunchSpec, name: string) => cluster.sandbox(spec, spec.taskId, name);
const many = (processes: number) => `for i in $(seq ${processes}); do sleep 600 & done; wait`;

describe('a task finds its id and its sandbox under older names, too', () => {
  const names = 'OLDER_TASK_ID OLDER_SANDBOX CLUSTER_TASK_ID CLUSTER_SANDBOX';
  const expected = (spec: LaunchSpec) => `${[spec.taskId, cluster.sandbox(spec)].join('\n')}\n`.repeat(2);

  test('as a plain command', async () => {
    const spec = await cluster.run(`printenv ${names}`, { environment: { OLDER_SANDBOX: 'not this' } });
    expect(cluster.output(spec)).toBe(expected(spec));
  });

  test('with executorData', async () => {
    const spec = await cluster.run('', managed({ cmd: `printenv ${names}` }));
    expect(readFileSync(inArea(spec, 'tail_of_finished_service.log'), 'utf8')).toBe(expected(spec));
  });
});

test('a script of the settings runs in the app folder before the command, after the profile, and says nothing in its log', async () => {
  const spec = await cluster.run(
    '',
    managed({ cmd: 'printenv FROM_EXTRA' }, { environment: { TASK_ID: 'x', GREETING: 'hello' } }),
  );
  expect(readFileSync(inArea(spec, 'tail_of_finished_service.log'), 'utf8')).toBe('hello\n');
  expect(readFileSync(inArea(spec, 'executor.bash.log'), 'utf8')).toBe(`chatter of x in ${inArea(spec, 'app')}\n`);
});

test.runIf(isRoot)('a task with executorData that names no user has the default one, others do not', async () => {
  const [own, named, plain] = await Promise.all([
    cluster.run('', managed({ cmd: 'id -un' })),
    cluster.run('', managed({ cmd: 'id -un' }, { user: 'daemon' })),
    cluster.run('id -u'),
  ]);
  expect(readFileSync(inArea(own!, 'tail_of_finished_service.log'), 'utf8')).toBe('nobody\n');
  expect(statSync(inArea(own!, 'app')).uid).toBe(Number(execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' })));
  expect(readFileSync(inArea(named!, 'tail_of_finished_service.log'), 'utf8')).toBe('daemon\n');
  expect(Number(cluster.output(plain!))).toBeGreaterThan(1_000_000);
});

test.runIf(isRoot)('a default user that no task may be is said at the start, and refuses the launch', async () => {
  const other = await AgentCluster.start({ settings: { defaultRunAsUser: 'root' } });
  try {
    expect(other.log.lines.join()).toContain("cluster.local.defaultRunAsUser: tasks must not run as 'root'");
    const spec = other.spec(managed({ cmd: 'true' }));
    expect(await other.driver.launch([spec], 1)).toMatchObject([{ outcome: 'REFUSED' }]);
    await other.run('echo well');
  } finally {
    await other.close();
  }
});

describe('threads', () => {
  const ended = async (spec: LaunchSpec) => {
    const message = await cluster.untilState(spec, 'TASK_FAILED');
    const { reason } = cluster.seen.updates.find(
      (each) => each.taskId === spec.taskId && each.state === 'TASK_FAILED',
    )!;
    return [message, reason];
  };

  test('of all processes of a task count, and the limit of the agent holds where the task names none', async () => {
    const tasks = await Promise.all([
      cluster.launch(many(9)),
      cluster.launch('', managed({ cmd: `sh -c '${many(9)}'` })),
    ]);
    for (const spec of tasks) {
      const [message, reason] = await ended(spec);
      expect(message).toMatch(/^Killed for too many threads: \d+, limit 4$/);
      expect(reason).toBe('REASON_CONTAINER_LIMITATION');
    }
  });

  test('beyond the limit of the agent are fine where the task names a higher one', async () => {
    const spec = await cluster.run(
      '',
      managed({ cmd: `sh -c 'for i in 1 2 3 4 5 6; do sleep 0.5 & done; wait'`, maxTaskThreads: 50 }),
    );
    expect(cluster.seen.statesOf(spec.taskId).at(-1)).toBe('TASK_FINISHED');
  });

  test.each(['PS', 'PROC_STATUS'])('are counted by %s in the first process only', async (threadCheckerType) => {
    const other = await AgentCluster.start({
      settings: { threadCheckerType, maxTaskThreads: 4, checkThreadsEveryMillis: 100 },
    });
    try {
      const threads = `const { Worker } = require('node:worker_threads');
        for (let i = 0; i < 9; i++) new Worker('setTimeout(() => 0, 600_000)', { eval: true });`;
      const [processes, one] = await Promise.all([
        other.run('for i in 1 2 3 4 5 6; do sleep 1 & done; wait'),
        other.launch('', { command: { shell: false, value: 'node', arguments: ['-e', threads] } }),
      ]);
      expect(other.seen.statesOf(processes!.taskId).at(-1)).toBe('TASK_FINISHED');
      expect(await other.untilState(one!, 'TASK_FAILED')).toContain('too many threads');
    } finally {
      await other.close();
    }
  });
});
