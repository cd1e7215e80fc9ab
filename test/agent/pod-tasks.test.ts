import { chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allProcesses, variableOf } from '../../src/agent/processes/processes.js';
import type { CommandSettings, PodToPrepare } from '../../src/pod-agent/pod-agent-api.js';
import type { ShellCommandOrder, TaskCheck } from '../../src/cluster/cluster-driver.js';
import { PodNode, type TestPod, testUid } from '../support/pod-node.js';
import { waitFor } from '../support/wait-for.js';

const isRoot = process.getuid?.() === 0;
const sh = (name: string, script: string) => ({ name, command: ['/bin/sh', '-c', script, 'sh'] });
const settings = {
  shellCommands: [
    sh('look', 'echo $OWN; pwd; id -u; id -G; cat; echo $TASK_SANDBOX_DIR; exit 3'),
    { name: 'who', command: ['/bin/echo', '{PID}', '{USER}'] },
    sh('rights', 'grep -E "^(CapEff|CapPrm|NoNewPrivs)" /proc/self/status; ls -l /proc/1/exe; cat /proc/self/cgroup'),
    sh('count', 'echo x >>count; sleep 600 & sleep 600'),
    { name: 'missing', command: ['/nonexistent/program'] },
  ].map((command) => ({ options: [], skipCommandPrefix: false, skipCommandPrefixDockerOnly: false, ...command })),
  shellCommandPrefix: [],
  shellCommandPidPlaceholder: '{PID}',
  shellCommandUserPlaceholder: '{USER}',
  shellCommandPidFile: '.task-pid',
  shellCommandTimeoutMillis: 60_000,
} satisfies CommandSettings;

describe.skipIf(!isRoot)('a task in a pod', () => {
  let node: PodNode;
  let pod: PodToPrepare & { path: string };
  let running: TestPod;
  let incarnation: string;
  let clock = Date.now();

  beforeAll(async () => {
    node = await PodNode.start({ checkThreadsEveryMillis: 200 });
    ({ incarnation } = await node.leader().hello());
    pod = await node.prepare();
    running = node.start(pod, [
      '/bin/sh',
      '-c',
      'dd if=/dev/zero of=file bs=1M count=3; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec sleep 600',
    ]);
    await waitFor('the task to run', () => statistics(pod));
  });
  afterAll(() => node?.close());

  const statistics = (of: PodToPrepare) =>
    node.api
      .task({ taskId: of.taskId })
      .statistics()
      .catch((cause: { status?: number }) => {
        if (cause.status !== 404) throw cause;
      });
  const orderOf = (name: string, of = pod): ShellCommandOrder => ({
    taskId: of.taskId,
    name,
    timestamp: ++clock,
    options: [],
  });
  const runCommand = (order: ShellCommandOrder) => node.leader().runCommand({ order, settings });
  /** All updates, none of them acknowledged. */
  const heard = async (waitMillis = 0) => (await node.leader().updates({ incarnation, after: 0, waitMillis })).updates;
  const reportsOf = (order: ShellCommandOrder) =>
    heard().then((all) =>
      all.flatMap(({ shellCommand }) => (shellCommand?.timestamp === order.timestamp ? [shellCommand] : [])),
    );
  const until = (order: ShellCommandOrder, type: string) =>
    waitFor(`${type} of ${order.name}`, async () =>
      (await reportsOf(order)).find(({ updateType }) => updateType === type),
    );
  const outputOf = (name: string | undefined) => readFileSync(join(pod.path, name!), 'utf8').split('\n').slice(1, -1);
  const commandProcesses = () =>
    allProcesses().filter(({ pid }) => variableOf(pid, 'CLUSTER_COMMAND')?.startsWith(node.root));

  test('has figures of its container alone, and so has its node', async () => {
    const figures = await waitFor('all of its file', async () => {
      const seen = await statistics(pod);
      const cpuSeconds = seen ? seen.cpusUserTimeSecs + seen.cpusSystemTimeSecs : 0;
      return seen && seen.diskUsedBytes >= 3 * 2 ** 20 && cpuSeconds > 0 ? seen : undefined;
    });
    expect(figures).toMatchObject({
      taskId: pod.taskId,
      cpusLimit: 1,
      memLimitBytes: 64 * 2 ** 20,
      diskLimitBytes: 100 * 2 ** 20,
    });
    expect(figures.memTotalBytes).toBeGreaterThan(0);
    expect((await node.api.usage()).tasks.map(({ taskId }) => taskId)).toEqual([pod.taskId]);
  });

  test('has commands run in its container, as its user, with its environment', async () => {
    const order = orderOf('look');
    expect(await runCommand(order)).toBe('ACCEPTED');
    const { outputFilename, message } = await until(order, 'FINISHED');
    expect(message).toBe('Exit code 3');
    const { sandbox, id } = { sandbox: '/mnt/cluster/sandbox', id: String(testUid) };
    expect(outputOf(outputFilename)).toEqual(['of the pod', sandbox, id, id, sandbox]);
    expect((await reportsOf(order)).map(({ updateType }) => updateType)).toEqual(['ACKED', 'STARTED', 'FINISHED']);
    expect(statSync(join(pod.path, outputFilename!)).uid).toBe(testUid);
  });

  test('has them told its process and its user', async () => {
    const order = orderOf('who');
    await runCommand(order);
    const { outputFilename } = await until(order, 'FINISHED');
    expect(outputOf(outputFilename)).toEqual([`1 ${testUid}`]);
    const pidFile = join(pod.path, '.task-pid');
    writeFileSync(pidFile, '4711\n');
    chownSync(pidFile, testUid, testUid);
    const next = orderOf('who');
    await runCommand(next);
    expect(outputOf((await until(next, 'FINISHED')).outputFilename)).toEqual([`4711 ${testUid}`]);
    rmSync(pidFile);
  });

  test('has them run without any right of root, within its namespaces and cgroups', async () => {
    const order = orderOf('rights');
    await runCommand(order);
    const text = outputOf((await until(order, 'FINISHED')).outputFilename).join('\n');
    expect(text).toMatch(/CapPrm:\s0+\nCapEff:\s0+\nNoNewPrivs:\s1/);
    expect(text).toMatch(/sleep/);
    expect(text).toContain(`pod${running.uid}/bbbb-task`);
  });

  test('has each of them run once, however often it is ordered and whenever the agent is killed', async () => {
    const order = orderOf('count');
    expect(await Promise.all([runCommand(order), runCommand(order)])).toEqual(['ACCEPTED', 'ACCEPTED']);
    await until(order, 'STARTED');
    await waitFor('its first line', () => existsSync(join(pod.path, 'count')));
    await node.stopAgent('SIGKILL');
    await node.startAgent();
    expect(await runCommand(order)).toBe('ACCEPTED');
    expect(await until(order, 'FAILED')).toMatchObject({ message: 'The agent ended before the command did' });
    expect(commandProcesses()).toEqual([]);
    expect(readFileSync(join(pod.path, 'count'), 'utf8')).toBe('x\n');
    expect(running.child.exitCode).toBeNull();
  });

  test('has those reported that cannot be run', async () => {
    const [unknown, missing] = [orderOf('unknown'), orderOf('missing')];
    for (const order of [unknown, missing]) await runCommand(order);
    expect(await until(unknown, 'INVALID')).toMatchObject({ message: expect.stringContaining('look') as string });
    expect(await until(missing, 'FINISHED')).toMatchObject({ message: 'Exit code 127' });
    expect(await runCommand({ ...orderOf('look'), taskId: 'unknown' })).toBe('GONE');
  });

  test('gives them no way to write elsewhere', async () => {
    const order = orderOf('who');
    const target = join(node.root, 'written');
    symlinkSync(target, join(pod.path, `executor.commands.who.${order.timestamp}.log`));
    await runCommand(order);
    await until(order, 'FAILED');
    expect(existsSync(target)).toBe(false);
  });

  test('has no commands where it is root, or has not begun', async () => {
    const [asRoot, waiting] = [await node.prepare({ user: undefined }), await node.prepare()];
    const started = node.start(asRoot, ['/bin/sleep', '600'], 0);
    await waitFor('it to run', () => statistics(asRoot));
    for (const [of, message] of [
      [asRoot, 'Commands are not run in tasks that are root'],
      [waiting, 'The task has no process'],
    ] as const) {
      const order = orderOf('who', of);
      await runCommand(order);
      expect(await until(order, 'INVALID')).toMatchObject({ message });
    }
    await started.end();
  });

  test.each([
    ['in files', 'dd if=/dev/zero of=big bs=1M count=5; exec sleep 600'],
    ['in files without a name', 'exec 7>big; rm big; dd if=/dev/zero bs=1M count=5 >&7; exec sleep 600'],
  ])('is named while it takes more of the disk than it may, %s, until its end is told', async (_where, script) => {
    const greedy = await node.prepare({ diskMb: 2 });
    const started = node.start(greedy, ['/bin/sh', '-c', script]);
    const last = (await heard()).at(-1)?.number ?? 0;
    const told = await waitFor('it to be named', async () => {
      const { overDisk } = await node.leader().updates({ incarnation, after: last, waitMillis: 5_000 });
      return overDisk.length > 0 && overDisk;
    });
    const named = { taskId: greedy.taskId, podName: greedy.podName, diskMb: 2 };
    expect(told).toEqual([named]);
    await started.end();
    await node.leader().ended({ taskIds: [greedy.taskId] });
    expect((await node.leader().updates({ incarnation, after: last, waitMillis: 0 })).overDisk).toEqual([]);
  });

  test('is named when it has more threads than its executorData allows', async () => {
    const many = await node.prepare({ executor: { maxTaskThreads: 3 } });
    const few = await node.prepare({ executor: { maxTaskThreads: 3 } });
    const script = (sleeps: number) => `${'sleep 600 & '.repeat(sleeps)} wait`;
    const started = [node.start(few, ['/bin/sh', '-c', script(1)]), node.start(many, ['/bin/sh', '-c', script(9)])];
    const last = (await heard()).at(-1)?.number ?? 0;
    const told = await waitFor('it to be named', async () => {
      const { overThreads = [] } = await node.leader().updates({ incarnation, after: last, waitMillis: 5_000 });
      return overThreads.length > 0 && overThreads;
    });
    expect(told).toEqual([
      {
        taskId: many.taskId,
        podName: many.podName,
        limit: 3,
        seen: expect.toSatisfy((seen: number) => seen > 3) as number,
      },
    ]);
    for (const one of started) await one.end();
    await node.leader().ended({ taskIds: [many.taskId, few.taskId] });
    expect((await node.leader().updates({ incarnation, after: last, waitMillis: 0 })).overThreads).toEqual([]);
  });

  test('with executorData has commands run in the folder that its container sees', async () => {
    const managed = await node.prepare({ executor: {} });
    const started = node.start(managed, ['/bin/sleep', '600']);
    await waitFor('it to run', () => statistics(managed));
    const order = orderOf('look', managed);
    expect(await runCommand(order)).toBe('ACCEPTED');
    const { outputFilename } = await until(order, 'FINISHED');
    expect(outputFilename).toMatch(new RegExp(`^${managed.taskId}/executor.commands.look`));
    const output = readFileSync(join(node.root, managed.podName, 'sandbox', outputFilename!), 'utf8');
    expect(output.split('\n')[2]).toBe('/mnt/cluster/sandbox');
    await started.end();
  });

  describe('checked by a command', () => {
    const check = (command: string, own: Partial<TaskCheck> = {}, of = pod) => {
      const order = { taskId: of.taskId, command, timeoutMillis: 10_000, maxOutputBytes: 1_000, ...own };
      return node.leader().check({ check: order });
    };

    test('has it run in its container, as its user, with its environment and no way to more rights', async () => {
      const numbers = async () => (await heard()).map(({ number }) => number);
      const told = await numbers();
      const look = 'echo $OWN; pwd; id -u; grep NoNewPrivs /proc/self/status; cat /proc/self/cgroup; exit 3';
      const answer = await check(look);
      expect(answer).toMatchObject({ outcome: 'ENDED', exitCode: 3 });
      const [own, directory, user, rights, ...groups] = 'output' in answer ? answer.output.split('\n') : [];
      expect([own, directory, user]).toEqual(['of the pod', '/mnt/cluster/sandbox', String(testUid)]);
      expect(rights).toMatch(/^NoNewPrivs:\s1$/);
      expect(groups.join('\n')).toContain(`pod${running.uid}/bbbb-task`);
      expect(await numbers()).toEqual(told);
    });

    test('has it ended with all of its group when its time is over, and answers no more than allowed', async () => {
      expect(await check('sleep 601 & sleep 602', { timeoutMillis: 300 })).toEqual({
        outcome: 'FAILED',
        reason: 'It took longer than 300 ms',
      });
      expect(commandProcesses()).toEqual([]);
      expect(await check('echo 12345678', { maxOutputBytes: 4 })).toMatchObject({ output: '1234' });
    });

    test('has none where it is root, has not begun, has ended, or is unknown', async () => {
      const [asRoot, waiting, ended] = [
        await node.prepare({ user: undefined }),
        await node.prepare(),
        await node.prepare(),
      ];
      const started = node.start(asRoot, ['/bin/sleep', '600'], 0);
      await waitFor('it to run', () => statistics(asRoot));
      expect(await check('true', {}, asRoot)).toEqual({
        outcome: 'FAILED',
        reason: 'Commands are not run in tasks that are root',
      });
      await started.end();
      await node.leader().ended({ taskIds: [ended.taskId] });
      for (const of of [waiting, ended, { ...pod, taskId: 'unknown' }])
        expect(await check('true', {}, of)).toEqual({ outcome: 'GONE' });
    });

    test('ends before its check does', async () => {
      const ending = await node.prepare();
      const started = node.start(ending, ['/bin/sleep', '600']);
      await waitFor('it to run', () => statistics(ending));
      const answer = check(': >ready; exec sleep 604', {}, ending);
      await waitFor('the check', () => existsSync(join(ending.path, 'ready')));
      await started.end();
      await node.leader().ended({ taskIds: [ending.taskId] });
      expect(await answer).not.toMatchObject({ exitCode: 0 });
      expect(commandProcesses()).toEqual([]);
    });
  });

  test('has its updates told again until they are acknowledged, and none of another incarnation', async () => {
    const order = orderOf('who');
    await runCommand(order);
    await until(order, 'FINISHED');
    const all = await heard();
    expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => all[0]!.number + index));
    await node.stopAgent('SIGKILL');
    await node.startAgent();
    // What was acknowledged may be told once more by an agent that was killed, by the clock of that moment.
    const again = all.map((update) => ({ ...update, timestamp: expect.any(Number) as number }));
    expect((await heard()).slice(-all.length)).toEqual(again);
    const after = all.at(-1)!.number;
    const other = await node.leader().updates({ incarnation: 'another', after, waitMillis: 0 });
    expect([other.incarnation, other.updates]).toEqual([incarnation, []]);
    expect((await node.leader().updates({ incarnation, after, waitMillis: 0 })).updates).toEqual([]);
    expect(await heard()).toEqual([]);
  });

  test('keeps what it printed when it was rotated while the agent was dead', async () => {
    const folder = node.logsOf(pod, running.uid);
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index}`);
    for (const [index, line] of lines.entries()) {
      node.print(pod, running.uid, line);
      if (index % 40 === 10) await node.stopAgent('SIGKILL');
      if (index % 40 === 20) renameSync(join(folder, '0.log'), join(folder, `0.log.20261123-${100_000 + index}`));
      if (index % 40 === 30) await node.startAgent();
    }
    await expect
      .poll(() => node.read(pod, 'stdout'), { timeout: 10_000 })
      .toBe(lines.map((line) => `${line}\n`).join(''));
  });

  test('has its commands ended with it', async () => {
    const order = orderOf('count');
    await runCommand(order);
    await until(order, 'STARTED');
    await waitFor('its processes', () => commandProcesses().length > 0);
    await running.end();
    const { upTo } = await node.leader().ended({ taskIds: [pod.taskId] });
    const last = (await reportsOf(order)).at(-1);
    expect(last?.updateType).toMatch(/^(FAILED|FINISHED)$/);
    expect((await heard()).at(-1)?.number).toBe(upTo);
    expect(commandProcesses()).toEqual([]);
    expect(await runCommand(orderOf('look'))).toBe('GONE');
    expect(await statistics(pod)).toBeUndefined();
    await node.leader().updates({ incarnation, after: upTo, waitMillis: 0 });
    expect(await node.leader().ended({ taskIds: [pod.taskId] })).toEqual({ upTo: 0 });
  });
});
