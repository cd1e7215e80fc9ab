import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import { processesUnder, signal } from '../../src/agent/processes/processes.js';
import { LocalDriver } from '../../src/cluster/local/local-driver.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { newTaskId, testLog } from '../support/agent-cluster.js';
import { EventRecorder } from '../support/event-recorder.js';
import { launchSpec } from '../support/launch-spec.js';
import { spawnNode, type TestProcess } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

const asNobody = fileURLToPath(new URL('../support/programs/as-nobody.mjs', import.meta.url));
const nobody = 65_534;
const md5Of = (text: string) => createHash('md5').update(text).digest('hex');

describe.runIf(userInfo().uid === 0)('an agent without rights', () => {
  const data = tempFolder();
  const root = join(data.path, 'own', 'agent');
  const seen = new EventRecorder();
  const driver = new LocalDriver({ now: Date.now, agentDirectory: root, log: testLog() });
  let agent: TestProcess;

  async function startAgent(): Promise<void> {
    agent = spawnNode([asNobody, agentProgram, '--data-dir', join(data.path, 'own')]);
    await agent.line("agent: Agent 'local' listens");
  }
  beforeAll(async () => {
    for (const name of ['own', 'isolated']) {
      mkdirSync(join(data.path, name));
      chownSync(join(data.path, name), nobody, nobody);
    }
    await startAgent();
    await driver.start(1, seen, seen.appliedUpdate);
  });
  afterAll(async () => {
    await driver.stop();
    await agent.kill('SIGTERM');
    for (const left of processesUnder(join(root, 'sandboxes'))) signal(left, 'SIGKILL');
    data.remove();
  });

  const specOf = (script: string, changes: Partial<LaunchSpec> = {}): LaunchSpec => {
    const [machine] = driver.machines();
    const { slaveId, incarnation } = machine!;
    const command = { shell: true, value: script, arguments: [] };
    return launchSpec({ taskId: newTaskId(), slaveId, incarnation, command, ...changes });
  };
  const untilState = (spec: LaunchSpec, state: string) =>
    waitFor(state, () => seen.statesOf(spec.taskId).includes(state), { everyMillis: 5 });

  test('says what it cannot limit, in one line', () => {
    const lines = agent.lines.filter((line) => line.startsWith('agent: cgroups: '));
    expect(lines.length).toBeLessThanOrEqual(1);
  });

  test('says that its tasks are not kept from each other, in one line', () => {
    const lines = agent.lines.filter((line) => line.includes('Tasks share the user'));
    expect(lines).toEqual([expect.stringContaining("Tasks share the user of the agent ('nobody' is not root)")]);
    for (const meant of ['end other tasks', 'the secret of the agent', 'DATABASE_URL', 'limits'])
      expect(lines[0]).toContain(meant);
  });

  test('does not start where that is not to be', async () => {
    const config = join(data.path, 'isolated.json');
    writeFileSync(config, '{"requireIsolation":true}', { mode: 0o644 });
    const other = spawnNode([asNobody, agentProgram, '--data-dir', join(data.path, 'isolated'), '--config', config]);
    await waitFor('its end', () => other.child.exitCode !== null);
    expect(other.child.exitCode).toBe(1);
    expect(other.lines.join()).toContain("tasks would share the user of the agent ('nobody' is not root)");
  });

  test('presents this machine', () => {
    expect(driver.machines()).toMatchObject([{ hostname: 'localhost', portRanges: [{ begin: 31_000, end: 31_999 }] }]);
  });

  test('fetches once for several tasks, as itself', async () => {
    let calls = 0;
    const server = createServer((_request, response) => {
      calls += 1;
      response.end('shared');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
    const executorData = { cmd: 'true', externalArtifacts: [{ filename: 'a', url, md5sum: md5Of('shared') }] };
    for (const _ of [1, 2]) {
      const spec = specOf('true', { executorData });
      await driver.launch([spec], 1);
      await untilState(spec, 'TASK_FINISHED');
    }
    server.close();
    expect(calls).toBe(1);
  });

  test('runs, finds again after it was killed, and kills its tasks', async () => {
    const spec = specOf('id -u; setsid sleep 600 & sleep 600');
    await driver.launch([spec], 1);
    await untilState(spec, 'TASK_RUNNING');
    const output = join(root, 'sandboxes', spec.taskId, 'stdout');
    await waitFor('output', () => readFileSync(output, 'utf8') === `${nobody}\n`);
    await agent.kill('SIGKILL');
    await startAgent();
    expect(await driver.kill(spec.taskId, spec.slaveId, 60_000, 1)).toBe('KILLING');
    await untilState(spec, 'TASK_KILLED');
    expect(processesUnder(join(root, 'sandboxes'))).toEqual([]);
  });

  test('refuses to run as another user', async () => {
    const answers = await driver.launch([specOf('true', { user: 'daemon' }), specOf('true', { user: 'root' })], 1);
    expect(answers).toMatchObject([
      { outcome: 'REFUSED', reason: "user: cannot run as 'daemon', the agent runs as 'nobody' and not as root" },
      { outcome: 'REFUSED', reason: "user: tasks must not run as 'root' (cluster.local.deniedRunUsers)" },
    ]);
    const own = specOf('true', { user: 'nobody' });
    await driver.launch([own], 1);
    await untilState(own, 'TASK_FINISHED');
  });
});
