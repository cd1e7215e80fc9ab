import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import { keptRecords } from '../../src/agent/shell-commands/command-record.js';
import { isAlive } from '../../src/agent/processes/process-identity.js';
import { allProcesses, variableOf } from '../../src/agent/processes/processes.js';
import type { ShellCommandOrder, ShellCommandReport } from '../../src/cluster/cluster-driver.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster, newTaskId } from '../support/agent-cluster.js';
import { waitFor } from '../support/wait-for.js';

const sh = (name: string, script: string, own: object = {}) => ({
  name,
  command: ['/bin/sh', '-c', script, 'sh'],
  ...own,
});
const settings = {
  shellCommandTimeoutMillis: 2_000,
  shellCommandPrefix: ['/usr/bin/env', 'PREFIXED=yes'],
  shellCommands: [
    sh('Say Hello', 'echo hello; echo oops >&2; exit 3'),
    { name: 'pid', command: ['/bin/echo', '{PID}', '{USER}'] },
    sh('where', 'pwd; echo $TASK_SANDBOX_DIR; echo $OWN; id -u; echo prefix=$PREFIXED', { skipCommandPrefix: true }),
    sh('flags', 'printf "[%s]\\n" "$@"', {
      options: [
        { name: 'live', flag: '-l' },
        { name: 'all', flag: '-a b' },
      ],
    }),
    sh('once', 'echo x >>once'),
    sh('count', 'echo x >>count; sleep 600'),
    sh('long', 'sleep 600 & setsid sleep 600 & wait'),
    sh('leaves', 'setsid sleep 600 & exit 0'),
    { name: 'missing', command: ['/nonexistent/program'], skipCommandPrefix: true },
    sh('suicide', 'kill -9 $$', { skipCommandPrefix: true }),
  ],
};

let clock = Date.now();
const orderOf = (spec: LaunchSpec, name: string, own: Partial<ShellCommandOrder> = {}): ShellCommandOrder => ({
  taskId: spec.taskId,
  name,
  timestamp: ++clock,
  options: [],
  ...own,
});
/** Reports about a command, in the order in which they came. */
const reportsOf = (cluster: AgentCluster, order: ShellCommandOrder): ShellCommandReport[] =>
  cluster.seen.updates.flatMap(({ shellCommand }) =>
    shellCommand?.name === order.name && shellCommand.timestamp === order.timestamp ? [shellCommand] : [],
  );
const isFinal = ({ updateType }: ShellCommandReport) => ['INVALID', 'FINISHED', 'FAILED'].includes(updateType);
const until = (cluster: AgentCluster, order: ShellCommandOrder, wanted: (report: ShellCommandReport) => boolean) =>
  waitFor(`an update of ${order.name}`, () => reportsOf(cluster, order).find(wanted), { everyMillis: 5 });
async function send(cluster: AgentCluster, order: ShellCommandOrder): Promise<void> {
  expect(await cluster.driver.runCommand(order, 's1', 1)).toBe('ACCEPTED');
}
/** Runs it to its end. Answers its last update. */
async function run(cluster: AgentCluster, order: ShellCommandOrder): Promise<ShellCommandReport> {
  await send(cluster, order);
  return until(cluster, order, isFinal);
}
const typesOf = (cluster: AgentCluster, order: ShellCommandOrder) => cluster.seen.commandUpdatesOf(order);
/** Live processes of all commands of a cluster. */
const commandProcesses = (cluster: AgentCluster) =>
  allProcesses().filter(({ pid }) => variableOf(pid, 'CLUSTER_COMMAND')?.startsWith(cluster.root));

describe('a command', () => {
  let cluster: AgentCluster;
  let task: LaunchSpec;
  beforeAll(async () => {
    cluster = await AgentCluster.start({ settings });
    task = await cluster.launch('exec sleep 600', { environment: { OWN: 'of the task' } });
    await cluster.untilState(task, 'TASK_RUNNING');
  });
  afterAll(() => cluster.close());
  const outputOf = ({ outputFilename }: ShellCommandReport) => cluster.output(task, outputFilename);

  test('is acknowledged with its command line, started with its process, finished with its exit code', async () => {
    const order = orderOf(task, 'Say Hello');
    const last = await run(cluster, order);
    expect(reportsOf(cluster, order).map(({ updateType, message }) => [updateType, message])).toEqual([
      ['ACKED', expect.stringMatching(/^\/usr\/bin\/env PREFIXED=yes \/bin\/sh -c echo hello/)],
      ['STARTED', expect.stringMatching(/^Process \d+$/)],
      ['FINISHED', 'Exit code 3'],
    ]);
    expect(last.outputFilename).toBe(`executor.commands.say-hello.${order.timestamp}.log`);
  });

  test('writes both of its outputs, below a line with time and command, to a file in the sandbox', async () => {
    const [header, ...lines] = outputOf(await run(cluster, orderOf(task, 'Say Hello'))).split('\n');
    expect(header).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z \/usr\/bin\/env .*hello/);
    expect(lines).toEqual(['hello', 'oops', '']);
  });

  test('has the log file name that was asked for', async () => {
    const order = orderOf(task, 'pid', { logfileName: 'mine' });
    expect((await run(cluster, order)).outputFilename).toBe(`executor.commands.mine.${order.timestamp}.log`);
  });

  test('runs in the sandbox, with the environment of the task and without the prefix where it says so', async () => {
    const lines = outputOf(await run(cluster, orderOf(task, 'where'))).split('\n');
    const sandbox = cluster.sandbox(task);
    expect(lines.slice(1)).toEqual([sandbox, sandbox, 'of the task', String(statSync(sandbox).uid), 'prefix=', '']);
  });

  test('gets the flags of its options in the order of the settings', async () => {
    const last = await run(cluster, orderOf(task, 'flags', { options: ['all', 'live'] }));
    expect(outputOf(last).split('\n').slice(1)).toEqual(['[-l]', '[-a b]', '']);
  });

  test('gets the process id and the user of the task', async () => {
    const [pid, user] = outputOf(await run(cluster, orderOf(task, 'pid')))
      .split('\n')[1]!
      .split(' ');
    const { pid: main } = cluster.processes().find((found) => found.parent !== process.pid)!;
    const { uid, username } = userInfo();
    expect([Number(pid), user]).toEqual([main, uid === 0 ? String(statSync(cluster.sandbox(task)).uid) : username]);
  });

  test('gets another process id where the task names one in a file', async () => {
    const other = await cluster.launch('echo 4711 >.task-pid; exec sleep 600');
    await cluster.fileOf(other, '.task-pid');
    const { outputFilename } = await run(cluster, orderOf(other, 'pid'));
    expect(cluster.output(other, outputFilename)).toContain('\n4711 ');
  });

  test.each([
    { what: 'without a number', write: (path: string) => writeFileSync(path, 'none') },
    { what: 'that is a folder', write: (path: string) => mkdirSync(path) },
    { what: 'that is a link', write: (path: string) => symlinkSync('/proc/1/stat', path) },
  ])('is invalid with such a file $what', async ({ write }) => {
    const other = await cluster.launch('exec sleep 600');
    await cluster.untilState(other, 'TASK_RUNNING');
    write(cluster.sandbox(other, '.task-pid'));
    const order = orderOf(other, 'pid');
    expect(await run(cluster, order)).toMatchObject({
      updateType: 'INVALID',
      message: expect.stringContaining('.task-pid'),
    });
    expect(typesOf(cluster, order)).toEqual(['INVALID']);
  });

  test('that this agent is not configured with is invalid, and the names of those that it is are told', async () => {
    const order = orderOf(task, 'unknown');
    expect((await run(cluster, order)).message).toContain('Say Hello, pid, where');
    expect(typesOf(cluster, order)).toEqual(['INVALID']);
    expect(await run(cluster, orderOf(task, 'pid', { options: ['x'] }))).toMatchObject({ updateType: 'INVALID' });
  });

  test('in a task that has not begun yet is invalid', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const waits = await cluster.launch('exec sleep 600', { artifacts: [{ uri: `http://127.0.0.1:${port}/never` }] });
    expect(await run(cluster, orderOf(waits, 'pid'))).toMatchObject({ updateType: 'INVALID' });
    await cluster.driver.kill(waits.taskId, 's1', 0, 1);
    await cluster.untilState(waits, 'TASK_KILLED');
    silent.close();
  });

  test('whose program is not there fails', async () => {
    const order = orderOf(task, 'missing');
    expect(await run(cluster, order)).toMatchObject({
      updateType: 'FAILED',
      message: expect.stringContaining('/nonexistent'),
    });
    expect(typesOf(cluster, order)).toEqual(['ACKED', 'FAILED']);
  });

  test('that a signal ends is finished with the exit code that a shell would tell', async () =>
    expect(await run(cluster, orderOf(task, 'suicide'))).toMatchObject({
      updateType: 'FINISHED',
      message: 'Exit code 137 (signal 9)',
    }));

  test('that takes longer than it may is killed with all that it started, and fails', async () => {
    const order = orderOf(task, 'long');
    expect(await run(cluster, order)).toMatchObject({
      updateType: 'FAILED',
      message: expect.stringContaining('2000 ms'),
    });
    expect(commandProcesses(cluster)).toEqual([]);
  });

  test('leaves no process behind', async () => {
    await run(cluster, orderOf(task, 'leaves'));
    await waitFor('the end of its processes', () => commandProcesses(cluster).length === 0);
  });

  test('runs beside others', async () => {
    const orders = ['long', 'Say Hello', 'flags', 'Say Hello'].map((name) => orderOf(task, name));
    await Promise.all(orders.map((order) => send(cluster, order)));
    for (const order of orders.slice(1)) await until(cluster, order, isFinal);
    expect(typesOf(cluster, orders[0]!)).not.toContain('FAILED');
    await until(cluster, orders[0]!, isFinal);
  });

  test('is none of the processes of its task: it is not counted, and a kill of the task does not end its shim', async () => {
    const other = await cluster.launch('exec sleep 600');
    await cluster.untilState(other, 'TASK_RUNNING');
    const order = orderOf(other, 'count');
    await send(cluster, order);
    await cluster.fileOf(other, 'count');
    const [sleeper] = commandProcesses(cluster);
    expect(cluster.processes().map(({ pid }) => pid)).not.toContain(sleeper!.pid);
    await cluster.driver.kill(other.taskId, 's1', 1_000, 1);
    expect(await cluster.untilState(other, 'TASK_KILLED')).toContain('exit code 143');
    expect(reportsOf(cluster, order).at(-1)).toMatchObject({ updateType: 'FAILED', message: 'The task ended' });
    await waitFor('the end of its process', () => !isAlive(sleeper!));
  });

  test('of a task with executorData runs in its folder, where its output is, too', async () => {
    const other = await cluster.launch('', {
      command: { shell: false, value: 'sleep 600', arguments: [] },
      executorData: { cmd: 'sleep 600' },
    } as Partial<LaunchSpec>);
    await cluster.untilState(other, 'TASK_RUNNING');
    const { outputFilename } = await run(cluster, orderOf(other, 'where'));
    expect(outputFilename).toMatch(new RegExp(`^${other.taskId}/executor\\.commands\\.where`));
    expect(cluster.output(other, outputFilename).split('\n')[1]).toBe(cluster.sandbox(other, other.taskId));
  });

  test('in a task that is not known is refused, and never runs', async () => {
    const order = { ...orderOf(task, 'pid'), taskId: newTaskId() };
    expect(await cluster.driver.runCommand(order, 's1', 1)).toBe('GONE');
  });
});

describe.runIf(userInfo().uid === 0)('a command in a task of another user', () => {
  test('runs as that user, who owns its output', async () => {
    const cluster = await AgentCluster.start({ settings: { ...settings, allowedRunUsers: ['nobody'] } });
    try {
      const task = await cluster.launch('exec sleep 600', { user: 'nobody' });
      await cluster.untilState(task, 'TASK_RUNNING');
      const { outputFilename } = await run(cluster, orderOf(task, 'where'));
      const { uid } = statSync(cluster.sandbox(task, 'stdout'));
      expect(cluster.output(task, outputFilename).split('\n')[4]).toBe(String(uid));
      expect(statSync(cluster.sandbox(task, outputFilename!)).uid).toBe(uid);
      const named = await run(cluster, orderOf(task, 'pid'));
      expect(cluster.output(task, named.outputFilename)).toContain(' nobody\n');
    } finally {
      await cluster.close();
    }
  });
});

describe('a task with too many threads', () => {
  test.each([
    { name: 'count', does: 'takes too long' },
    { name: 'Say Hello', does: 'works' },
    { name: 'unknown', does: 'is not there' },
  ])('is killed after the command that is to run before, though it $does', async ({ name }) => {
    const before = { checkThreadsEveryMillis: 100, runShellCommandBeforeKillDueToThreads: { name } };
    const cluster = await AgentCluster.start({ settings: { ...settings, ...before } });
    try {
      const task = await cluster.launch('', {
        command: { shell: false, value: 'sh -c "sleep 600 & sleep 600 & wait"', arguments: [] },
        executorData: { cmd: 'x', maxTaskThreads: 2 },
      } as Partial<LaunchSpec>);
      expect(await cluster.untilState(task, 'TASK_FAILED')).toContain('too many threads: 3');
      const story = cluster.seen.updates.map(({ shellCommand, state }) => shellCommand?.updateType ?? state);
      const ends = { count: ['ACKED', 'STARTED', 'FAILED'], 'Say Hello': ['ACKED', 'STARTED', 'FINISHED'] }[name];
      expect(story.slice(2)).toEqual([...(ends ?? ['INVALID']), 'TASK_FAILED']);
    } finally {
      await cluster.close();
    }
  });
});

describe('a task with many commands', () => {
  test('has records of the newest and of those that run, and runs none again whose record has gone', async () => {
    const cluster = await AgentCluster.start({ settings: { ...settings, shellCommandTimeoutMillis: 600_000 } });
    try {
      const task = await cluster.launch('exec sleep 600');
      await cluster.untilState(task, 'TASK_RUNNING');
      const folder = cluster.control(task, 'commands');
      const recordOf = ({ timestamp }: ShellCommandOrder) =>
        readdirSync(folder).find((name) => name.startsWith(`${timestamp}-`));
      /** As if so many had run. */
      const writeRecords = (count: number) => {
        for (let left = count; left > 0; left--) {
          const order = orderOf(task, 'pid');
          writeFileSync(join(folder, `${order.timestamp}-0.json`), JSON.stringify({ order, ended: true }));
        }
      };
      const [done, running] = [orderOf(task, 'once'), orderOf(task, 'count')];
      await run(cluster, done);
      await send(cluster, running);
      await cluster.fileOf(task, 'count');

      writeRecords(keptRecords);
      await run(cluster, orderOf(task, 'Say Hello'));
      await waitFor('the removal of the others', () => readdirSync(folder).length === keptRecords + 1);
      expect(recordOf(done)).toBeUndefined();
      expect(recordOf(running)).toBeDefined();
      for (const order of [done, running]) await send(cluster, order);
      await until(cluster, done, ({ updateType }) => updateType === 'INVALID');
      await waitFor('the removal of its record', () => recordOf(done) === undefined);

      writeRecords(10);
      await cluster.restartAgent();
      await until(cluster, running, isFinal);
      await waitFor('the removal of the others', () => readdirSync(folder).length === keptRecords);
      await send(cluster, running);
      await until(cluster, running, ({ updateType }) => updateType === 'INVALID');
      for (const name of ['once', 'count']) expect(cluster.output(task, name)).toBe('x\n');
    } finally {
      await cluster.close();
    }
  });
});

describe('an agent that ends while commands run', () => {
  const forLong = { ...settings, shellCommandTimeoutMillis: 600_000 };
  async function withRunningCommand(end: (cluster: AgentCluster) => Promise<void>): Promise<void> {
    const cluster = await AgentCluster.start({ program: agentProgram, settings: forLong });
    try {
      const task = await cluster.launch('exec sleep 600');
      await cluster.untilState(task, 'TASK_RUNNING');
      const done = orderOf(task, 'Say Hello');
      await run(cluster, done);
      const order = orderOf(task, 'count');
      await send(cluster, order);
      await cluster.fileOf(task, 'count');
      const [sleeper] = commandProcesses(cluster);
      await end(cluster);
      await cluster.startAgent();

      const last = await until(cluster, order, isFinal);
      expect(last).toMatchObject({ updateType: 'FAILED', message: 'The agent ended before the command did' });
      expect(isAlive(sleeper!)).toBe(false);
      expect(await cluster.driver.runCommand(order, 's1', 1)).toBe('ACCEPTED');
      const next = orderOf(task, 'Say Hello');
      await run(cluster, next);
      expect(readFileSync(cluster.sandbox(task, 'count'), 'utf8')).toBe('x\n');
      expect(typesOf(cluster, order)).toEqual(['ACKED', 'STARTED', 'FAILED']);
      expect(typesOf(cluster, done)).toEqual(['ACKED', 'STARTED', 'FINISHED']);
      expect(cluster.seen.statesOf(task.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING']);
      const numbers = cluster.seen.updates.map((update) => update.number);
      expect(numbers).toEqual(numbers.map((_number, index) => index + 1));
    } finally {
      await cluster.close();
    }
  }

  test('kill -9: its successor says that they failed, ends what is left of them and begins none again', () =>
    withRunningCommand((cluster) => cluster.killAgent()));

  test('in order: the same', () =>
    withRunningCommand(async (cluster) => {
      await cluster.stopAgent();
      expect(commandProcesses(cluster)).toEqual([]);
    }));

  test('a task that ended meanwhile is told to have ended after its commands', async () => {
    const cluster = await AgentCluster.start({ program: agentProgram, settings: forLong });
    try {
      const task = await cluster.launch('while [ ! -e end ]; do sleep 0.02; done');
      await cluster.untilState(task, 'TASK_RUNNING');
      const order = orderOf(task, 'count');
      await send(cluster, order);
      await cluster.fileOf(task, 'count');
      await cluster.killAgent();
      writeFileSync(cluster.sandbox(task, 'end'), '');
      await waitFor('the exit file', () => existsSync(cluster.control(task, 'exit')));
      await cluster.startAgent();
      await cluster.untilState(task, 'TASK_FINISHED');
      const story = cluster.seen.updates.map(({ shellCommand, state }) => shellCommand?.updateType ?? state);
      expect(story.slice(-2)).toEqual(['FAILED', 'TASK_FINISHED']);
    } finally {
      await cluster.close();
    }
  });

  test('one that was accepted and had not begun is not begun', async () => {
    const cluster = await AgentCluster.start({ program: agentProgram, settings: forLong });
    try {
      const task = await cluster.launch('exec sleep 600');
      await cluster.untilState(task, 'TASK_RUNNING');
      await cluster.killAgent();
      const order = orderOf(task, 'count');
      const folder = cluster.control(task, 'commands');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, `${order.timestamp}-0.json`), JSON.stringify({ order, ended: false }));
      await cluster.startAgent();
      await until(cluster, order, isFinal);
      expect(typesOf(cluster, order)).toEqual(['FAILED']);
      expect(existsSync(cluster.sandbox(task, 'count'))).toBe(false);
    } finally {
      await cluster.close();
    }
  });
});
