import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import { diskUse, TooDeep } from '../../src/agent/sandbox/disk-use.js';
import { processesUnder, signal } from '../../src/agent/processes/processes.js';
import { LocalDriver } from '../../src/cluster/local/local-driver.js';
import { AgentCluster, newTaskId, testLog, testSlave } from '../support/agent-cluster.js';
import { EventRecorder } from '../support/event-recorder.js';
import { launchSpec } from '../support/launch-spec.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

const user = userInfo().uid === 0 ? 'nobody' : undefined;
const waiting = 'while :; do sleep 1; done';

describe('the disk of a task', () => {
  let cluster: AgentCluster;
  beforeAll(async () => (cluster = await AgentCluster.start()));
  afterAll(() => cluster.close());

  test.each([
    { how: 'in a file', script: 'dd if=/dev/zero of=big bs=1M count=20' },
    {
      how: 'in a file that it has removed and holds open',
      script: 'exec 3>big; rm big; dd if=/dev/zero bs=1M count=20 >&3',
    },
    { how: 'in the log', script: 'dd if=/dev/zero bs=1M count=20' },
    { how: 'in very many empty files', script: 'mkdir m; cd m; seq -f f%g 9000 | xargs touch' },
    {
      how: 'where it is nested deeper than can be measured',
      script: `node -e 'for (let i = 0; i < 400; i++) { fs.mkdirSync("d"); process.chdir("d"); }'`,
    },
  ])('is enforced: $how', async ({ script }) => {
    const spec = await cluster.launch(`${script}; ${waiting}`, { diskMb: 8, user });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Disk limit exceeded: 8 MB');
    const end = cluster.seen.updates.find((update) => update.taskId === spec.taskId && update.state === 'TASK_FAILED');
    expect(end?.reason).toBe('REASON_CONTAINER_LIMITATION_DISK');
  });

  test('is not taken by holes, by links or by what they lead to', async () => {
    const script =
      'truncate -s 1T hole; dd if=/dev/zero of=some bs=1M count=3; ln some more; ln some again; ln -s / all';
    const spec = await cluster.launch(`${script}; echo done; exec sleep 600`, { diskMb: 8, user });
    await cluster.fileOf(spec, 'stdout');
    const whole = { bytes: 0 };
    for await (const { bytes } of diskUse(cluster.sandbox(spec))) whole.bytes = bytes;
    expect(whole.bytes).toBeGreaterThan(3 << 20);
    expect(whole.bytes).toBeLessThan(4 << 20);
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
  });

  test('is measured in parts, which may be broken off', async () => {
    const folder = tempFolder();
    execFileSync('sh', ['-c', 'seq -f f%g 3000 | xargs touch'], { cwd: folder.path });
    const seen: number[] = [];
    for await (const { files } of diskUse(folder.path)) seen.push(files);
    expect(seen.slice(0, 3)).toEqual([500, 1_000, 1_500]);
    expect(seen.at(-1)).toBe(3_000);
    mkdirSync(join(folder.path, 'd/'.repeat(200)), { recursive: true });
    await expect(async () => {
      for await (const _part of diskUse(folder.path));
    }).rejects.toThrow(TooDeep);
    folder.remove();
  });
});

describe('a disk that fills up', () => {
  const disk = tempFolder();
  let canMount = false;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m,mode=755', 'muster-test', disk.path], { stdio: 'ignore' });
    canMount = true;
  } catch {
    console.log('Nothing can be mounted here: a full disk is not tested');
  }
  afterAll(() => {
    if (canMount) execFileSync('umount', ['-l', disk.path]);
    disk.remove();
  });

  test.runIf(canMount)(
    'below its reserve has no task started, and the machine says so until there is room',
    async () => {
      const cluster = await AgentCluster.start({
        directory: join(disk.path, 'agent'),
        settings: { reservedDiskMb: 20 },
      });
      const isFull = () => cluster.driver.machines()[0]?.isDiskFull === true;
      const filler = join(disk.path, 'filler');
      try {
        expect(isFull()).toBe(false);
        writeFileSync(filler, Buffer.alloc(25 << 20));
        await waitFor('a full disk', isFull);
        const spec = cluster.spec();
        expect(await cluster.driver.launch([spec], 1)).toEqual([{ taskId: spec.taskId, outcome: 'DISK_FULL' }]);
        expect(await cluster.driver.launch([spec], 1)).toEqual([{ taskId: spec.taskId, outcome: 'DISK_FULL' }]);
        rmSync(filler);
        await waitFor('room', () => !isFull());
        const [answer] = await cluster.driver.launch([cluster.spec()], 1);
        expect(answer?.outcome).toBe('ACCEPTED');
      } finally {
        await cluster.close();
      }
    },
  );

  test.runIf(canMount)('leaves an agent that answers, whose log lies on it', async () => {
    const data = join(disk.path, 'data');
    mkdirSync(data);
    const folder = join(data, 'agent');
    const config = join(data, 'settings.json');
    writeFileSync(config, JSON.stringify({ slaves: [testSlave], reservedDiskMb: 1 }));
    const log = openSync(join(data, 'agent.log'), 'a');
    const agent = spawn(process.execPath, [agentProgram, '--data-dir', data, '--config', config], {
      stdio: ['ignore', log, log],
    });
    const seen = new EventRecorder();
    const driver = new LocalDriver({ now: Date.now, agentDirectory: folder, log: testLog() });
    const filler = join(data, 'filler');
    const launch = () => {
      const { incarnation } = driver.machines()[0]!;
      const value = `while [ ! -e ${join(disk.path, 'go')} ]; do sleep 0.05; done; exit 3`;
      const spec = launchSpec({ taskId: newTaskId(), incarnation, command: { shell: true, value, arguments: [] } });
      return driver.launch([spec], 1).then(([answer]) => ({ taskId: spec.taskId, outcome: answer?.outcome }));
    };
    const untilState = (taskId: string, state: string) =>
      waitFor(state, () => seen.statesOf(taskId).includes(state), { timeoutMillis: 20_000 });
    try {
      await waitFor('the agent', () => existsSync(join(folder, 'endpoint.json')));
      await driver.start(1, seen, seen.appliedUpdate);
      const { taskId } = await launch();
      await untilState(taskId, 'TASK_RUNNING');
      spawnSync('sh', ['-c', `cat /dev/zero >${filler}`], { stdio: 'ignore' });
      await waitFor('a full disk', () => driver.machines()[0]?.isDiskFull === true);
      for (let turn = 0; turn < 20; turn++) expect(['DISK_FULL', 'UNKNOWN']).toContain((await launch()).outcome);
      expect(await driver.machineUsage('s1')).toBeDefined();
      expect([agent.exitCode, agent.signalCode]).toEqual([null, null]);
      rmSync(filler);
      writeFileSync(join(disk.path, 'go'), '');
      await untilState(taskId, 'TASK_FAILED');
      await waitFor('room', () => driver.machines()[0]?.isDiskFull !== true);
      expect((await launch()).outcome).toBe('ACCEPTED');
    } finally {
      await driver.stop();
      agent.kill('SIGKILL');
      for (const left of processesUnder(join(folder, 'sandboxes'))) signal(left, 'SIGKILL');
      closeSync(log);
    }
  });
});
