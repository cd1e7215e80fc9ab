import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import { LocalDriver } from '../../src/cluster/local/local-driver.js';
import type { ContainerInfo, DockerInfo } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster, newTaskId, testLog } from '../support/agent-cluster.js';
import { EventRecorder } from '../support/event-recorder.js';
import { freePort } from '../support/free-port.js';
import { startRegistry } from '../support/image-registry.js';
import { launchSpec } from '../support/launch-spec.js';
import { image, type TestPodman, testPodman, withoutBridges, withoutPodman } from '../support/podman.js';
import { spawnNode } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/* What engines differ in, and what a machine has beside one: networks, registries, Docker's program, an ordinary user. */

const docker = (changes: Partial<DockerInfo> = {}, more: Partial<ContainerInfo> = {}): ContainerInfo => ({
  type: 'DOCKER',
  docker: { image, privileged: false, network: 'HOST', ...changes },
  ...more,
});
const shell = (script: string, more: Partial<LaunchSpec> = {}): Partial<LaunchSpec> => ({
  container: docker(),
  command: { shell: true, value: script, arguments: [] },
  ...more,
});
const timeout = 120_000;

describe.skipIf(withoutPodman !== undefined)(`with podman (${withoutPodman ?? 'installed'})`, { timeout }, () => {
  let podman: TestPodman;
  let cluster: AgentCluster;
  beforeAll(() => (podman = testPodman()), 60_000);
  afterAll(() => podman.remove());
  const start = async (containers: object = {}, settings: object = {}) =>
    (cluster = await AgentCluster.start({
      program: agentProgram,
      settings: { ...settings, containers: { ...podman.settings, ...containers } },
    }));
  afterEach(async () => {
    await cluster.close();
    const left = podman.names();
    for (const name of left) podman.podman('rm', '--force', name);
    if (left.length > 0) throw new Error(`Containers are left: ${left.join()}`);
  });
  const launch = (changes: Partial<LaunchSpec>) => cluster.launch('', changes);
  const run = async (changes: Partial<LaunchSpec>) => {
    const spec = await launch(changes);
    await cluster.untilEnd(spec);
    return spec;
  };
  const end = (spec: LaunchSpec) => cluster.seen.updates.findLast((update) => update.taskId === spec.taskId);
  const kill = async (spec: LaunchSpec) => {
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
  };

  describe.skipIf(withoutBridges !== undefined)(`networks (${withoutBridges ?? 'bridges work'})`, () => {
    let network: string;
    beforeAll(() => void (network = podman.addNetwork()));
    const page = async (port: number) => (await fetch(`http://127.0.0.1:${port}/`)).text();
    const serve = (text: string, port: number | string) =>
      `cd $CLUSTER_SANDBOX; echo ${text} >index.html; exec httpd -f -p ${port} -h .`;
    const isReached = (port: number, text: string) =>
      waitFor(`the page on ${port}`, async () => (await page(port)) === `${text}\n`);

    test('a bridge has ports of the machine that lead to those of the container, and nothing else of it', async () => {
      await start();
      const port = await freePort();
      const portMappings = [{ hostPort: port, containerPort: 8080, protocol: 'tcp' }];
      const spec = await launch(
        shell(serve('bridged', 8080), { container: docker({ network: 'BRIDGE', portMappings }) }),
      );
      await cluster.untilState(spec, 'TASK_RUNNING');
      await isReached(port, 'bridged');
      const devices = podman.podman('exec', `se-${spec.taskId}`, 'cat', '/proc/net/dev').matchAll(/^\s*(\w+):/gm);
      expect([...devices].map(([, name]) => name).toSorted()).toEqual(['eth0', 'lo']);
      await kill(spec);
      await expect(page(port)).rejects.toThrow('fetch failed');
    });

    test('a network by its name: containers in it reach each other, and ports lead into it', async () => {
      await start();
      const port = await freePort();
      const container = docker(
        { network: undefined },
        { networkInfos: [{ name: network, portMappings: [{ hostPort: port, containerPort: 8080, protocol: 'tcp' }] }] },
      );
      const server = await launch(shell(serve('named', 8080), { container }));
      await cluster.untilState(server, 'TASK_RUNNING');
      await isReached(port, 'named');
      const address = podman
        .podman(
          'container',
          'inspect',
          `--format={{(index .NetworkSettings.Networks "${network}").IPAddress}}`,
          `se-${server.taskId}`,
        )
        .trim();
      const bridge = docker({ network: 'BRIDGE' }, { networkInfos: [{ name: network }] });
      const client = await run(shell(`wget -q -O - http://${address}:8080/`, { container: bridge }));
      expect(cluster.output(client)).toBe('named\n');
      await kill(server);
    });

    test('none has no network at all', async () => {
      await start();
      const spec = await run(shell('cat /proc/net/dev', { container: docker({ network: 'NONE' }) }));
      expect(cluster.output(spec)).not.toContain('eth0');
    });
  });

  test('an image comes from a registry, with the login of the settings and without', async () => {
    const folder = join(podman.folder, 'pushed');
    podman.podman('push', '--quiet', image, `dir:${folder}`);
    const registry = await startRegistry(folder, 'reader', 'pass word');
    podman.trust(registry.server);
    const name = `${registry.server}/app:1`;
    await start({ maxDockerPullAttempts: 1 });
    const refused = await run(shell('true', { container: docker({ image: name }) }));
    expect(end(refused)).toMatchObject({ state: 'TASK_FAILED' });
    expect(end(refused)!.message).toContain(`Cannot pull ${name}`);
    await cluster.close();
    const registryLogin = { user: 'reader', password: 'pass word', server: registry.server };
    await start({ registryLogin });
    const spec = await run(shell('echo pulled', { container: docker({ image: name }) }));
    expect(end(spec)?.state).toBe('TASK_FINISHED');
    expect(cluster.output(spec)).toBe('pulled\n');
    const pulls = () => registry.calls.filter((call) => call.includes('/manifests/')).length;
    const before = pulls();
    // What the machine has is not asked for again, unless it has to be.
    await run(shell('true', { container: docker({ image: name }) }));
    expect(pulls()).toBe(before);
    await run(shell('true', { container: docker({ image: name, forcePullImage: true }) }));
    expect(pulls()).toBeGreaterThan(before);
    const images = { type: 'MESOS' as const, cluster: { image: { type: 'DOCKER' as const, docker: { name } } } };
    const asCluster = (cached: boolean): ContainerInfo => ({
      ...images,
      cluster: { image: { ...images.cluster.image, cached } },
      networkInfos: [],
    });
    const again = pulls();
    await run(shell('true', { container: { ...asCluster(true), docker: undefined } }));
    expect(pulls()).toBe(again);
    podman.podman('logout', '--all');
    await registry.close();
  });

  const dockerProgram = '/usr/local/bin/docker /usr/bin/docker'.split(' ').find((path) => existsSync(path));

  describe.skipIf(!dockerProgram)(`Docker's program (${dockerProgram ?? 'left out where none is installed'})`, () => {
    let service: ChildProcess;
    let engine: string;
    beforeAll(async () => {
      const socket = join(podman.folder, 'api.sock');
      const words = [...podman.engineArguments, 'system', 'service', '--time=0', `unix://${socket}`];
      service = spawn(podman.engine, words, { stdio: 'ignore' });
      engine = join(podman.folder, 'docker');
      writeFileSync(
        engine,
        `#!/bin/sh\nexport DOCKER_HOST=unix://${socket} DOCKER_CONFIG=${podman.folder}/docker-config\nexec ${dockerProgram} "$@"\n`,
        { mode: 0o755 },
      );
      await waitFor('the service of podman', () => existsSync(socket));
    }, 60_000);
    afterAll(async () => {
      service.kill('SIGTERM');
      await waitFor('its end', () => service.exitCode !== null || service.signalCode !== null);
    });
    const withDocker = { engineArguments: [] };

    test('takes every word that the agent says: create, start, exec, stop, remove', async () => {
      await start(
        { ...withDocker, engine },
        { shellCommands: [{ name: 'who', command: ['sh', '-c', 'echo pid $1; id -u', 'sh', '{PID}'] }] },
      );
      const done = await run(shell('echo out; echo err >&2; id -u; exit 7'));
      expect(end(done)).toMatchObject({ state: 'TASK_FAILED', message: 'Exit code 7' });
      expect(cluster.output(done)).toMatch(/^out\n\d{5,}\n$/);
      expect(cluster.output(done, 'stderr')).toBe('err\n');
      const spec = await launch({
        container: docker({ dockerParameters: [{ key: 'stop-signal', value: 'SIGTERM' }] }, { volumes: [] }),
        command: { shell: true, value: `sh -c 'trap "exit 5" TERM; while :; do sleep 0.05; done'`, arguments: [] },
        executorData: { cmd: `sh -c 'trap "exit 5" TERM; while :; do sleep 0.05; done'`, maxOpenFiles: 64 },
        cpuHardLimit: 1,
      });
      await cluster.untilState(spec, 'TASK_RUNNING');
      await cluster.driver.runCommand({ taskId: spec.taskId, name: 'who', timestamp: 5, options: [] }, 's1', 1);
      const last = await waitFor('the end of the command', () =>
        cluster.seen.updates.find((update) => update.shellCommand?.updateType === 'FINISHED'),
      );
      expect(readFileSync(cluster.sandbox(spec, last.shellCommand!.outputFilename!), 'utf8')).toContain('pid 1\n');
      await cluster.driver.kill(spec.taskId, 's1', 20_000, 1);
      expect(await cluster.untilState(spec, 'TASK_KILLED')).toContain('Killed gracefully, exit code 5');
    });

    test('an agent that is killed finds its containers again, and removes what no task is left of', async () => {
      await start({ ...withDocker, engine });
      const spec = await launch(shell('exec sleep 600'));
      await cluster.untilState(spec, 'TASK_RUNNING');
      await cluster.killAgent();
      await cluster.startAgent();
      expect(await cluster.driver.launch([spec], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: 'TASK_RUNNING' }]);
      expect(podman.names()).toEqual([`se-${spec.taskId}`]);
      await kill(spec);
      const none = await run(shell('true', { container: docker({ image: '127.0.0.1:1/none' }) }));
      expect(end(none)?.message).toContain('Cannot pull 127.0.0.1:1/none');
    });
  });
});

const asNobody = fileURLToPath(new URL('../support/programs/as-nobody.mjs', import.meta.url));
const nobody = 65_534;

describe.skipIf(withoutPodman !== undefined)(
  `an agent without rights (${withoutPodman ?? 'podman'})`,
  { timeout },
  () => {
    test('runs containers as itself, where its engine lets it', async () => {
      const podman = testPodman({ uid: nobody });
      const data = tempFolder();
      const own = join(data.path, 'own');
      mkdirSync(own);
      chownSync(own, nobody, nobody);
      const config = join(data.path, 'settings.json');
      writeFileSync(config, JSON.stringify({ containers: podman.settings }), { mode: 0o644 });
      const agent = spawnNode([asNobody, agentProgram, '--data-dir', own, '--config', config]);
      await agent.line("agent: Agent 'local' listens");
      const seen = new EventRecorder();
      const driver = new LocalDriver({ now: Date.now, agentDirectory: join(own, 'agent'), log: testLog() });
      await driver.start(1, seen, seen.appliedUpdate);
      const [machine] = driver.machines();
      const spec = launchSpec({
        ...shell('id -u; cat /proc/self/status | grep NoNewPrivs; echo made >/mnt/cluster/sandbox/made'),
        taskId: newTaskId(),
        slaveId: machine!.slaveId,
        incarnation: machine!.incarnation,
      });
      await driver.launch([spec], 1);
      const last = await waitFor(
        'the end',
        () => seen.updates.find(({ state }) => /FINISHED|FAILED|LOST/.test(state)),
        {
          timeoutMillis: 60_000,
        },
      );
      expect(last).toMatchObject({ state: 'TASK_FINISHED' });
      const sandbox = join(own, 'agent', 'sandboxes', spec.taskId);
      // Root of its own namespace, which is the agent's user on the machine.
      expect(readFileSync(join(sandbox, 'stdout'), 'utf8')).toMatch(/^0\nNoNewPrivs:\s+1\n$/);
      expect(readFileSync(join(sandbox, 'made'), 'utf8')).toBe('made\n');
      expect(podman.names()).toEqual([]);
      await driver.stop();
      await agent.kill('SIGTERM');
      podman.remove();
      data.remove();
    });
  },
);
