import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import { elsewhere, readEndpoint } from '../../src/agent/state/agent-directory.js';
import { runAgent } from '../../src/agent/agent.js';
import { allProcesses, processesUnder, signal } from '../../src/agent/processes/processes.js';
import { LocalDriver } from '../../src/cluster/local/local-driver.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster, newTaskId, testLog, testSlave } from '../support/agent-cluster.js';
import { EventRecorder } from '../support/event-recorder.js';
import { launchSpec } from '../support/launch-spec.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

const isRoot = userInfo().uid === 0;
const shared = tempFolder();
afterAll(() => shared.remove());

const orders = {
  shellCommands: [{ name: 'who', command: ['/bin/sh', '-c', 'id -u'] }],
};
const managed = { executorData: { cmd: 'sleep 600' }, command: { shell: true, value: 'sleep 600', arguments: [] } };

async function withCluster(
  options: Parameters<typeof AgentCluster.start>[0],
  work: (cluster: AgentCluster) => Promise<void>,
): Promise<void> {
  const cluster = await AgentCluster.start(options);
  try {
    await work(cluster);
  } finally {
    await cluster.close();
  }
}

const userOf = (cluster: AgentCluster, spec: LaunchSpec): number => {
  // Among the live tasks, or those whose end was acknowledged.
  const places = ['tasks', 'ended'].map((folder) => join(cluster.root, folder, spec.taskId, 'spec.json'));
  const text = readFileSync(
    places.find((place) => existsSync(place))!,
    'utf8',
  );
  return (JSON.parse(text) as { runAs: { uid: number } }).runAs.uid;
};
const mainPid = (cluster: AgentCluster, spec: LaunchSpec): number =>
  Number.parseInt(readFileSync(cluster.control(spec, 'task.new'), 'utf8'), 10);
/** Once the launcher has become the program. */
const untilProgram = (pid: number, name: string) =>
  waitFor(name, () => readFileSync(`/proc/${pid}/comm`, 'utf8') === `${name}\n`, { everyMillis: 5 });
const statusOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  ) as Record<string, string>;

describe.runIf(isRoot)('a task of an agent that is root', () => {
  let cluster: AgentCluster;
  beforeAll(
    async () =>
      (cluster = await AgentCluster.start({
        settings: { ...orders, allowedArtifactPaths: [shared.path], allowedRunUsers: ['nobody', 'games'] },
      })),
  );
  afterAll(() => cluster.close());

  test('has a user and a group of its own, no further groups, no capabilities and no way to gain any', async () => {
    const [one, two] = await Promise.all([cluster.run('cat /proc/self/status'), cluster.run('cat /proc/self/status')]);
    const status = statusOf(cluster.output(one));
    const uid = userOf(cluster, one);
    expect(uid).toBeGreaterThanOrEqual(1_900_000_000);
    expect(userOf(cluster, two)).not.toBe(uid);
    const four = Array.from({ length: 4 }, () => uid).join('\t');
    const none = '0000000000000000';
    expect(status).toMatchObject({ Uid: four, Gid: four, Groups: '', NoNewPrivs: '1' });
    expect(status).toMatchObject({ CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none });
  });

  test('of an account has that account, and no way to more rights either', async () => {
    const { Uid, NoNewPrivs, CapEff } = statusOf(
      cluster.output(await cluster.run('cat /proc/self/status', { user: 'nobody' })),
    );
    expect([Uid?.split('\t')[0], NoNewPrivs, CapEff]).toEqual(['65534', '1', '0000000000000000']);
  });

  test('gets at nothing of the agent, of other tasks or of their processes', async () => {
    const secrets = { environment: { PASSWORD: 'do-not-tell' } };
    const victim = await cluster.launch('echo do-not-tell; echo do-not-tell >private; exec sleep 600', secrets);
    const other = await cluster.launch('', { ...managed, ...secrets, taskId: newTaskId() });
    await cluster.fileOf(victim, 'private');
    await cluster.untilState(other, 'TASK_RUNNING');
    const area = cluster.sandbox(other, other.taskId);
    await cluster.fileOf(other, other.taskId, 'deploy.env');
    const [agent, main] = [(await readEndpoint(cluster.root))!.pid, mainPid(cluster, victim)];
    const shim = allProcesses().find(({ pid }) => pid === main)!.parent;
    const { root } = cluster;
    const asked = [
      ...['secret', 'endpoint.json', 'updates.jsonl', 'incarnation', `tasks/${victim.taskId}/spec.json`].map(
        (name) => `cat ${root}/${name}`,
      ),
      `cat ${root}/tasks/${victim.taskId}/launcher`,
      ...['', '/tasks', '/sandboxes', '/ended', '/tombstones', '/bin'].map((name) => `ls ${root}${name}`),
      ...[agent, main, shim].flatMap((pid) => [
        `cat /proc/${pid}/environ`,
        `ls /proc/${pid}/fd`,
        `ls /proc/${pid}/cwd/`,
        `head -c 10 /proc/${pid}/mem`,
        `kill -s CONT ${pid}`,
      ]),
      ...['stdout', 'private', ''].map((name) => `cat ${cluster.sandbox(victim, name)}`),
      ...['deploy.env', 'runner.sh', 'service.log'].map((name) => `cat ${area}/${name}`),
      `ls ${cluster.sandbox(victim)}`,
      `touch ${root}/x`,
      `touch ${root}/sandboxes/x`,
      `touch ${cluster.sandbox(victim, 'x')}`,
      `mv ${cluster.sandbox(victim)} ${root}/sandboxes/y`,
    ];
    const attack = await cluster.run(asked.map((line) => `${line} && echo 'GOT ${line}'`).join('\n'));
    expect(cluster.output(attack)).toBe('');
    // The tools were there: what was asked for was refused.
    expect(cluster.output(attack, 'stderr')).not.toContain('not found');
    for (const spec of [victim, other]) await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(other, 'TASK_KILLED');
  });

  test.each(['a plain command', 'executorData', 'a command beside a task'])(
    'has its variables looked at by no process of root: %s',
    async (way) => {
      const seen = mkdtempSync(join(shared.path, 'loaders-'));
      chmodSync(seen, 0o777);
      // The loader of every dynamically linked program writes such a file, as the user that it runs as.
      const environment = { LD_DEBUG: 'files', LD_DEBUG_OUTPUT: join(seen, 'loader') };
      const owners = () => new Set(readdirSync(seen).map((name) => statSync(join(seen, name)).uid));
      const changes = way === 'executorData' ? { ...managed, environment } : { environment };
      const spec = await cluster.launch('exec sleep 600', changes);
      await waitFor('a loader', () => owners().size > 0, { everyMillis: 5 });
      if (way.includes('beside')) {
        const order = { taskId: spec.taskId, name: 'who', timestamp: Date.now(), options: [] };
        await cluster.driver.runCommand(order, 's1', 1);
        await waitFor('its end', () => cluster.seen.commandUpdatesOf(order).includes('FINISHED'), { everyMillis: 5 });
      }
      await untilProgram(mainPid(cluster, spec), 'sleep');
      expect([...owners()]).toEqual([userOf(cluster, spec)]);
      await cluster.driver.kill(spec.taskId, 's1', 0, 1);
      await cluster.untilState(spec, 'TASK_KILLED');
      expect([...owners()]).toEqual([userOf(cluster, spec)]);
    },
  );

  test('has its outputs opened with its own rights, whatever stands in their place', async () => {
    const place = mkdtempSync(join(shared.path, 'archive-'));
    const target = join(shared.path, 'of-root');
    writeFileSync(target, 'as it was', { mode: 0o600 });
    symlinkSync(target, join(place, 'stdout'));
    const archive = join(shared.path, 'links.tar');
    execFileSync('tar', ['-cf', archive, '-C', place, 'stdout']);
    chmodSync(archive, 0o644);
    const spec = await cluster.launch('echo written', { artifacts: [{ uri: `file://${archive}` }] });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('Exit code');
    expect(readFileSync(target, 'utf8')).toBe('as it was');
  });

  test('leaves a sandbox that only root can read, and that the agent still shows', async () => {
    const spec = await cluster.run('echo hello');
    await cluster.untilState(spec, 'TASK_FINISHED');
    const { uid, mode } = statSync(cluster.sandbox(spec));
    expect([uid, mode & 0o777]).toEqual([0, 0o700]);
    const files = await cluster.driver.sandbox(spec.taskId, 's1');
    expect((await files?.read('stdout', 0, 100))?.data.toString()).toBe('hello\n');
  });

  test.each([
    ['root', 'deniedRunUsers'],
    ['0', 'deniedRunUsers'],
    ['+0', 'deniedRunUsers'],
    ['00', 'deniedRunUsers'],
    ['no-such-account', 'no user'],
    ['', 'no user'],
    ['nobody\nroot', 'no user'],
    ['1900000007', 'no user'],
  ])('cannot be %j', async (user, why) => {
    expect(await cluster.driver.refusedUser(user)).toContain(why);
    if (user === '') return;
    expect(await cluster.driver.launch([cluster.spec({ user })], 1)).toMatchObject([
      { outcome: 'REFUSED', reason: expect.stringContaining(why) },
    ]);
  });

  test('cannot be the owner of what lies beside the agent, such as the database', async () => {
    expect(await cluster.driver.refusedUser('games')).toBeUndefined();
    const database = join(dirname(cluster.root), 'postgres-18');
    mkdirSync(database, { mode: 0o700 });
    chownSync(database, 5, 60);
    expect(await cluster.driver.refusedUser('games')).toContain('owns files of the service');
    expect(await cluster.driver.launch([cluster.spec({ user: '5' })], 1)).toMatchObject([{ outcome: 'REFUSED' }]);
    rmSync(database, { recursive: true });
  });
});

describe.runIf(isRoot)('settings of users', () => {
  test('let tasks be some accounts only, by whatever name', () =>
    withCluster({ settings: { allowedRunUsers: ['nobody'], deniedRunUsers: ['games'] } }, async ({ driver }) => {
      expect(await driver.refusedUser('daemon')).toContain('none of cluster.local.allowedRunUsers');
      expect(await driver.refusedUser('games')).toContain('deniedRunUsers');
      expect(await driver.refusedUser('5')).toContain('deniedRunUsers');
      expect(await driver.refusedUser('root')).toContain('allowedRunUsers');
      expect(await driver.refusedUser('65534')).toBeUndefined();
    }));

  test('let tasks be no account but their own unless operators name some', () =>
    withCluster({ settings: { allowedRunUsers: [] } }, async (cluster) => {
      for (const user of ['nobody', 'daemon', '65534', 'games', 'www-data'])
        expect(await cluster.driver.refusedUser(user)).toContain('none of cluster.local.allowedRunUsers');
      const answers = await cluster.driver.launch([cluster.spec({ user: 'nobody' })], 1);
      expect(answers).toMatchObject([{ outcome: 'REFUSED', reason: expect.stringContaining('allowedRunUsers') }]);
      expect(Number(cluster.output(await cluster.run('id -u')))).toBeGreaterThanOrEqual(1_900_000_000);
    }));

  test('let tasks be all accounts but those that are denied, and the default account', async () => {
    await withCluster(
      { settings: { allowedRunUsers: ['*'], deniedRunUsers: ['root', 'games'] } },
      async ({ driver }) => {
        expect(await driver.refusedUser('nobody')).toBeUndefined();
        for (const user of ['root', 'games', '5']) expect(await driver.refusedUser(user)).toContain('deniedRunUsers');
      },
    );
    await withCluster({ settings: { defaultRunAsUser: 'nobody' } }, async ({ driver }) => {
      expect(await driver.refusedUser('65534')).toBeUndefined();
      expect(await driver.refusedUser('daemon')).toContain('allowedRunUsers');
    });
  });

  test('refuse the start where tasks would be of the user of the agent', () =>
    expect(AgentCluster.start({ settings: { tasksRunAs: 'AGENT', requireIsolation: true } })).rejects.toThrow(
      'agent.requireIsolation: tasks would share the user of the agent (cluster.local.tasksRunAs is AGENT)',
    ));

  test('let tasks be root where operators say so', () =>
    withCluster(
      { settings: { tasksRunAs: 'AGENT', allowedRunUsers: ['nobody'], deniedRunUsers: [] } },
      async (cluster) => {
        expect(cluster.log.lines.join()).toContain(
          'Tasks share the user of the agent (cluster.local.tasksRunAs is AGENT)',
        );
        expect(cluster.output(await cluster.run('id -u'))).toBe('0\n');
        expect(cluster.output(await cluster.run('id -u', { user: 'root' }))).toBe('0\n');
        expect(cluster.output(await cluster.run('id -u', { user: 'nobody' }))).toBe('65534\n');
      },
    ));
});

describe.runIf(isRoot)('a user that is given again', () => {
  const one = { taskUsers: { first: 1_999_000_000, count: 1 } };

  test('reads nothing of the task that had it before, and is not given while that one lives', () =>
    withCluster({ settings: one }, async (cluster) => {
      const before = await cluster.run('echo mine >private; chmod 777 . private');
      await cluster.untilState(before, 'TASK_FINISHED');
      const after = await cluster.launch(
        `cat ${cluster.sandbox(before)}/private; ls ${cluster.sandbox(before)}; exec sleep 600`,
      );
      expect(userOf(cluster, after)).toBe(userOf(cluster, before));
      await cluster.untilState(after, 'TASK_RUNNING');
      await untilProgram(mainPid(cluster, after), 'sleep');
      expect(cluster.output(after)).toBe('');
      expect(await cluster.driver.launch([cluster.spec()], 1)).toMatchObject([
        { outcome: 'UNKNOWN', reason: expect.stringContaining('All 1 users for tasks are in use') },
      ]);
    }));

  test('stays with a task that outlives the agent', () =>
    withCluster({ settings: { ...one, ...orders } }, async (cluster) => {
      const spec = await cluster.launch('exec sleep 600');
      await cluster.untilState(spec, 'TASK_RUNNING');
      await cluster.restartAgent();
      expect(await cluster.driver.launch([cluster.spec()], 1)).toMatchObject([{ outcome: 'UNKNOWN' }]);
      const order = { taskId: spec.taskId, name: 'who', timestamp: Date.now(), options: [] };
      await cluster.driver.runCommand(order, 's1', 1);
      await waitFor('its end', () => cluster.seen.commandUpdatesOf(order).includes('FINISHED'), { everyMillis: 5 });
      const file = cluster.seen.updates.find(({ shellCommand }) => shellCommand?.outputFilename)!.shellCommand!;
      expect(cluster.output(spec, file.outputFilename)).toContain('\n1999000000\n');
      await cluster.driver.kill(spec.taskId, 's1', 0, 1);
      await cluster.untilState(spec, 'TASK_KILLED');
      const { uid } = statSync(cluster.sandbox(spec));
      expect(uid).toBe(0);
      await cluster.run('true');
    }));

  test('is free again when its task has ended, whatever the scheduler knows of that', () =>
    withCluster({ settings: one }, async (cluster) => {
      const spec = await cluster.launch('exec sleep 0.1');
      await cluster.driver.stop();
      await waitFor('the end', () => statSync(cluster.sandbox(spec)).uid === 0, { everyMillis: 5 });
      await cluster.restartAgent();
      const driver = cluster.newDriver();
      expect(await driver.launch([cluster.spec()], 1)).toMatchObject([{ outcome: 'ACCEPTED' }]);
    }));

  test('leaves no process behind, where no cgroup has them all', () =>
    withCluster({ settings: { ...one, cgroups: 'off' } }, async (cluster) => {
      const spec = await cluster.run('setsid env -i /bin/sleep 611 & exec sleep 0.3');
      await cluster.untilState(spec, 'TASK_FINISHED');
      // One that has no memory any more, or that SIGKILL waits for, runs nothing: the kernel is about to remove it.
      const left = allProcesses().filter(
        ({ pid, residentPages }) => residentPages > 0 && ownerOf(pid) === 1_999_000_000 && !isBeingKilled(pid),
      );
      expect(left).toEqual([]);
    }));
});

/** SIGKILL was sent to it, and it has not run since. */
const isBeingKilled = (pid: number): boolean => {
  try {
    const pending = /^(?:Sig|Shd)Pnd:\s+(\w+)$/gm;
    const masks = [...readFileSync(`/proc/${pid}/status`, 'utf8').matchAll(pending)].map(([, mask]) =>
      BigInt(`0x${mask}`),
    );
    return masks.some((mask) => (mask >> 8n) % 2n === 1n);
  } catch {
    return true;
  }
};

const ownerOf = (pid: number): number | undefined => {
  try {
    return statSync(`/proc/${pid}`).uid;
  } catch {
    return undefined;
  }
};

describe.runIf(isRoot).each(['auto', 'off'] as const)('with cgroups %s', (cgroups) => {
  test('a storm of processes ends at its limit, and the agent goes on', () =>
    withCluster({ settings: { cgroups, maxProcessesPerTask: 40 } }, async (cluster) => {
      const storm = await cluster.launch('for n in $(seq 100); do sleep 600 & done; wait');
      await waitFor('a refusal', () => /fork|unavailable/i.test(cluster.output(storm, 'stderr')), { everyMillis: 10 });
      const uid = userOf(cluster, storm);
      expect(allProcesses().filter(({ pid }) => ownerOf(pid) === uid).length).toBeLessThanOrEqual(40);
      const calm = await cluster.run('echo calm');
      expect(cluster.output(calm)).toBe('calm\n');
      await cluster.driver.kill(storm.taskId, 's1', 0, 1);
      await waitFor('the end', () => cluster.seen.statesOf(storm.taskId).length >= 3);
      expect(allProcesses().filter(({ pid }) => ownerOf(pid) === uid)).toEqual([]);
    }));
});

describe('a file of a task', () => {
  test('becomes no longer than its disk and a little', () =>
    withCluster({}, async (cluster) => {
      const spec = await cluster.run('head -c 80000000 /dev/zero >large', { diskMb: 1 });
      expect(statSync(cluster.sandbox(spec, 'large')).size).toBe(65 * 1024 * 1024);
      expect(cluster.seen.statesOf(spec.taskId).at(-1)).toBe('TASK_FAILED');
      const free = await cluster.run('head -c 80000000 /dev/zero >large; rm large');
      expect(cluster.seen.statesOf(free.taskId).at(-1)).toBe('TASK_FINISHED');
    }));
});

describe('what the agent inherited', () => {
  test('does not reach its tasks', async () => {
    const data = tempFolder();
    const config = join(data.path, 'settings.json');
    writeFileSync(config, JSON.stringify({ slaves: [testSlave] }));
    const stdio: ('ignore' | 'pipe')[] = Array.from({ length: 252 }, () => 'ignore');
    for (const descriptor of [1, 2, 5, 12, 251]) stdio[descriptor] = 'pipe';
    const args = [agentProgram, '--data-dir', data.path, '--config', config];
    const agent = spawn(process.execPath, args, { stdio });
    const root = join(data.path, 'agent');
    const seen = new EventRecorder();
    const driver = new LocalDriver({ now: Date.now, agentDirectory: root, log: testLog() });
    try {
      await waitFor('the agent', () => existsSync(join(root, 'endpoint.json')));
      await driver.start(1, seen, seen.appliedUpdate);
      const { slaveId, incarnation } = driver.machines()[0]!;
      const command = { shell: true, value: 'exec sleep 600', arguments: [] };
      const spec = launchSpec({ taskId: newTaskId(), slaveId, incarnation, command });
      await driver.launch([spec], 1);
      await waitFor('a start', () => seen.statesOf(spec.taskId).includes('TASK_RUNNING'), { everyMillis: 5 });
      const pid = Number.parseInt(readFileSync(join(root, 'tasks', spec.taskId, 'task.new'), 'utf8'), 10);
      await untilProgram(pid, 'sleep');
      // A program that has just begun still reads its libraries.
      await expect.poll(() => readdirSync(`/proc/${pid}/fd`).toSorted()).toEqual(['0', '1', '2']);
      expect(readlinkSync(`/proc/${pid}/fd/0`)).toBe('/dev/null');
    } finally {
      await driver.stop();
      const ended = once(agent, 'exit');
      agent.kill('SIGTERM');
      await ended;
      const left = () => processesUnder(join(root, 'sandboxes'));
      for (const one of left()) signal(one, 'SIGKILL');
      // Its shim writes down how the task ended.
      await waitFor('the end of the shim', () => left().length === 0, { everyMillis: 5 });
      data.remove();
    }
  });
});

describe.runIf(isRoot)('a data directory that other users cannot pass', () => {
  test('has its sandboxes elsewhere, so that tasks reach them', async () => {
    const closed = mkdtempSync(join(tmpdir(), 'muster-test-'));
    const log = testLog();
    const agent = await runAgent({ directory: join(closed, 'data', 'agent'), slaves: [testSlave], log });
    const driver = new LocalDriver({ now: Date.now, agentDirectory: join(closed, 'data', 'agent'), log: testLog() });
    const seen = new EventRecorder();
    let sandbox = '';
    try {
      expect(log.lines.join('\n')).toContain(`Sandboxes are in ${elsewhere}/agent-`);
      await driver.start(1, seen, seen.appliedUpdate);
      const { slaveId, incarnation } = driver.machines()[0]!;
      const command = { shell: true, value: 'pwd; touch made', arguments: [] };
      const spec = launchSpec({ taskId: newTaskId(), slaveId, incarnation, command });
      const [answer] = await driver.launch([spec], 1);
      sandbox = answer?.outcome === 'ACCEPTED' ? answer.directory : '';
      await waitFor('its end', () => seen.statesOf(spec.taskId).includes('TASK_FINISHED'), { everyMillis: 5 });
      const files = await driver.sandbox(spec.taskId, slaveId);
      expect((await files?.read('stdout', 0, 1_000))?.data.toString()).toBe(`${sandbox}\n`);
    } finally {
      await driver.stop();
      await agent.stop();
      rmSync(closed, { recursive: true });
      if (sandbox.startsWith(`${elsewhere}/agent-`)) rmSync(dirname(dirname(sandbox)), { recursive: true });
    }
  });
});
