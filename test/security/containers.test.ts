import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import type { ContainerInfo, Deploy, DockerInfo } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { Api, type ApiError } from '../e2e/support/api.js';
import { AgentCluster, testSlave } from '../support/agent-cluster.js';
import { freePort } from '../support/free-port.js';
import { startRegistry } from '../support/image-registry.js';
import { image, type TestPodman, testPodman, withoutBridges, withoutPodman } from '../support/podman.js';
import { tempFolder } from '../support/temp-folder.js';
import { startTestApp } from '../support/test-app.js';
import { waitFor } from '../support/wait-for.js';

/* What a deploy might get out of the engine that runs its container, tried on a real one. */

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

describe.skipIf(withoutPodman !== undefined)(`containers (${withoutPodman ?? 'podman'})`, { timeout }, () => {
  let podman: TestPodman;
  let cluster: AgentCluster;
  beforeAll(() => void (podman = testPodman()), 60_000);
  afterAll(() => podman.remove());
  afterEach(async () => {
    await cluster.close();
    for (const name of podman.names()) podman.podman('rm', '--force', name);
  });
  const start = async (containers: object = {}, settings: object = {}) =>
    (cluster = await AgentCluster.start({
      program: agentProgram,
      settings: { ...settings, containers: { ...podman.settings, ...containers } },
    }));
  const run = async (changes: Partial<LaunchSpec>) => {
    const spec = await cluster.launch('', changes);
    await cluster.untilEnd(spec);
    return spec;
  };
  const end = (spec: LaunchSpec) => cluster.seen.updates.findLast((update) => update.taskId === spec.taskId);

  test('an option without its value takes nothing of the command for it', async () => {
    await start();
    const secret = join(podman.folder, 'secret');
    writeFileSync(secret, 'of the machine', { mode: 0o600 });
    const forms: Partial<DockerInfo>[] = [
      { dockerParameters: [{ key: 'hostname', value: '' }] },
      { dockerParameters: [{ key: 'hostname' }] },
      { dockerParameters: [{ key: 'h', value: '' }] },
      { parameters: { h: '' } },
      { parameters: { entrypoint: '' } },
      { dockerParameters: [{ key: 'init', value: 'x' }] },
    ];
    for (const form of forms) {
      const spec = await run({
        container: docker(form),
        command: {
          shell: false,
          value: '--user=0',
          arguments: [`--volume=${podman.folder}:/machine`, image, 'cat', '/machine/secret'],
        },
      });
      expect(end(spec), JSON.stringify(form)).toMatchObject({ state: 'TASK_FAILED' });
      expect(existsSync(cluster.sandbox(spec, 'stdout')) ? cluster.output(spec) : '').not.toContain('machine');
    }
  });

  test('a link that is put into a volume later leads nowhere: while containers may be root, a volume is a whole folder', async () => {
    const share = join(podman.folder, 'share');
    mkdirSync(join(share, 'real', 'etc'), { recursive: true });
    await start({ runAs: 'IMAGE_USER', allowedHostPaths: [share, join(share, 'real')] });
    for (const path of [`${share}/real/etc`, `${share}/real`]) {
      const spec = await run(
        shell('ls /data', { container: docker({}, { volumes: [{ containerPath: '/data', hostPath: path }] }) }),
      );
      expect(end(spec), path).toMatchObject({ state: 'TASK_FAILED' });
      expect(end(spec)!.message, path).toContain('must be a whole folder');
    }
    const whole = await run(
      shell('touch /data/made; ls /data', {
        container: docker({}, { volumes: [{ containerPath: '/data', hostPath: share, mode: 'RW' }] }),
      }),
    );
    expect(cluster.output(whole)).toBe('made\nreal\n');
  });

  test('files that the user of an image makes can be read, while it runs and later; links and devices cannot', async () => {
    await start({ runAs: 'IMAGE_USER' });
    const spec = await cluster.launch(
      '',
      shell(
        'cd $CLUSTER_SANDBOX; mkdir in; echo root made it >in/out.txt; ln -s /etc/shadow in/link; echo up; ' +
          'while [ ! -e end ]; do sleep 0.05; done',
      ),
    );
    await waitFor('the file', () => cluster.output(spec) === 'up\n');
    const read = async (path: string) =>
      (await (await cluster.driver.sandbox(spec.taskId, 's1'))?.read(path, 0, 100))?.data.toString();
    expect(await read('in/out.txt')).toBe('root made it\n');
    writeFileSync(cluster.sandbox(spec, 'end'), '');
    await cluster.untilState(spec, 'TASK_FINISHED');
    expect(await read('in/out.txt')).toBe('root made it\n');
    expect(await read('in/link')).toBeUndefined();
  });

  test('variables of the agent by which the engine reaches registries are in no container', async () => {
    Object.assign(process.env, {
      HTTP_PROXY: 'http://user:SECRETPW@127.0.0.1:1',
      https_proxy: 'http://u:SECRETPW@h:1',
    });
    try {
      await start();
    } finally {
      delete process.env.HTTP_PROXY;
      delete process.env.https_proxy;
    }
    const spec = await run(shell('env', { environment: { no_proxy: 'of the deploy' } }));
    expect(cluster.output(spec)).not.toContain('SECRETPW');
    expect(cluster.output(spec)).toContain('no_proxy=of the deploy');
  });

  test('what is written to a volume of the image counts for the disk of the task, and goes with it', async () => {
    podman.addImage('localhost/with-volume:1', 'VOLUME /data');
    await start();
    const spec = await run(
      shell('dd if=/dev/zero of=/data/x bs=1M count=60; sleep 600', {
        container: docker({ image: 'localhost/with-volume:1' }),
        diskMb: 20,
      }),
    );
    expect(end(spec)).toMatchObject({ state: 'TASK_FAILED', message: 'Disk limit exceeded: 20 MB' });
    expect(podman.podman('volume', 'ls', '--quiet')).toBe('');
  });

  test('an image is found by its name, never by the number that any pull has given it', async () => {
    await start({ maxDockerPullAttempts: 1 });
    const id = podman.podman('image', 'inspect', '--format={{.Id}}', image).trim().replace('sha256:', '');
    for (const name of [id.slice(0, 12), id, `sha256:${id}`]) {
      const spec = await run(shell('echo ran', { container: docker({ image: name }) }));
      expect(end(spec), name).toMatchObject({ state: 'TASK_FAILED' });
      expect(existsSync(cluster.sandbox(spec, 'stdout')) ? cluster.output(spec) : '', name).toBe('');
    }
  });

  test('a folder to work in that is not there is made by the agent, for the task', async () => {
    await start();
    const spec = await run({
      container: docker({ dockerParameters: [{ key: 'w', value: '/mnt/cluster/sandbox/a/b' }] }),
      command: { shell: false, value: '/bin/sh', arguments: ['-c', 'pwd; echo mine >file; cat file'] },
    });
    expect(cluster.output(spec)).toBe('/mnt/cluster/sandbox/a/b\nmine\n');
  });

  test('a port that no machine gives to tasks is refused at the deploy and its plan; one that a machine gives is published', async () => {
    const port = await freePort();
    if (withoutBridges === undefined) podman.addNetwork();
    cluster = await AgentCluster.start({
      program: agentProgram,
      slaves: [{ ...testSlave, ports: `${port}-${port}` }],
      settings: { containers: podman.settings },
    });
    await cluster.driver.stop();
    const app = await startTestApp({ driver: cluster.newDriver() });
    try {
      const api = new Api(app.url);
      await waitFor('the engine', () => app.driver.machines()[0]?.runsContainers);
      await waitFor('the slave', async () => (await api.get<unknown[]>('slaves')).length === 1);
      await api.saveRequest({ id: 'fixed', requestType: 'SERVICE' });
      const onPort = (hostPort: number, more: Partial<ContainerInfo> = {}): Deploy => ({
        requestId: 'fixed',
        id: `d${hostPort}`,
        command: "trap 'exit 0' TERM; cd $CLUSTER_SANDBOX; echo here >index.html; httpd -f -p 8080 -h . & wait",
        shell: true,
        resources: { cpus: 0.1, memoryMb: 64 },
        considerHealthyAfterRunningForSeconds: 0,
        containerInfo: docker({ network: 'BRIDGE', portMappings: [{ containerPort: 8080, hostPort }] }, more),
      });
      const networkInfos = [{ portMappings: [{ containerPort: 8081, hostPort: 22 }] }];
      for (const deploy of [onPort(22), onPort(80), onPort(port + 1), onPort(port, { networkInfos })]) {
        for (const path of ['deploys', 'deploys/plan']) {
          const cause: unknown = await api.post(path, { deploy }).catch((error: unknown) => error);
          expect(cause, `${path} ${deploy.id}`).toMatchObject({ status: 400 });
          expect(JSON.parse((cause as ApiError).body)).toMatchObject({
            errors: [{ field: 'deploy.containerInfo', rule: 'supported' }],
            message: expect.stringContaining('no machine has the ports'),
          });
        }
      }
      expect(await api.get('tasks/scheduled')).toEqual([]);
      if (withoutBridges !== undefined) return;
      await api.deploy(onPort(port));
      expect((await api.deployEnded('fixed', `d${port}`)).deployResult?.deployState).toBe('SUCCEEDED');
      await waitFor('its page', async () => (await (await fetch(`http://127.0.0.1:${port}/`)).text()) === 'here\n');
    } finally {
      await app.close();
    }
  });

  describe('an engine that fails', () => {
    /** Real podman, except where a file says what it complains of: one command, and its complaint, on a line. */
    const engine = () => {
      const path = join(podman.folder, 'failing-engine');
      const faults = join(podman.folder, 'faults');
      writeFileSync(faults, '');
      writeFileSync(
        path,
        `#!/bin/sh\nwhile read -r fault complaint; do\n  case " $* " in *" $fault "*) echo "$complaint" >&2; exit 125;; esac\n` +
          `done <${faults}\nexec ${podman.engine} "$@"\n`,
        { mode: 0o755 },
      );
      return { path, fail: (...lines: string[]) => writeFileSync(faults, lines.map((line) => `${line}\n`).join('')) };
    };

    test.each([
      ['inspect', 'Error: database is locked'],
      ['pull', 'Error: writing blob: no space left on device'],
      ['create', 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?'],
    ])('at %s loses the task, and the deploy is not to blame', async (command, complaint) => {
      const { path, fail } = engine();
      await start({ engine: path, maxDockerPullAttempts: 1 });
      fail(`${command} ${complaint}`);
      const spec = await run(shell('true', { container: docker({ forcePullImage: command === 'pull' }) }));
      expect(end(spec)).toMatchObject({ state: 'TASK_LOST', reason: 'REASON_CONTAINER_LAUNCH_FAILED' });
      fail();
      expect(end(await run(shell('true')))).toMatchObject({ state: 'TASK_FINISHED' });
    });

    test('that is gone takes no further containers at once, and does when it is back', async () => {
      const { path } = engine();
      await start({ engine: path, maxDockerPullAttempts: 1 });
      renameSync(path, `${path}.gone`);
      const spec = await run(shell('true'));
      expect(end(spec)).toMatchObject({
        state: 'TASK_LOST',
        message: expect.stringContaining('No containers run here'),
      });
      await waitFor('the machine to say so', () =>
        cluster.driver.machines()[0]?.containersRefusal?.includes('not installed'),
      );
      renameSync(`${path}.gone`, path);
      await waitFor('the engine', () => cluster.driver.machines()[0]?.runsContainers, { timeoutMillis: 90_000 });
    });

    test('to remove a container is asked again, without a new start of the agent', async () => {
      const { path, fail } = engine();
      await start({ engine: path });
      const spec = await cluster.launch('', shell('exec sleep 600'));
      await cluster.untilState(spec, 'TASK_RUNNING');
      fail('rm Error: timed out');
      await cluster.driver.kill(spec.taskId, 's1', 0, 1);
      await cluster.untilState(spec, 'TASK_KILLED');
      expect(podman.names()).toEqual([`se-${spec.taskId}`]);
      fail();
      await waitFor('the removal', () => podman.names().length === 0, { timeoutMillis: 40_000 });
    });
  });

  test('an end that the program beside a container could not tell is asked of the engine', async () => {
    await start();
    const spec = await cluster.launch('', shell('while [ ! -e $CLUSTER_SANDBOX/end ]; do sleep 0.05; done; exit 3'));
    await cluster.untilState(spec, 'TASK_RUNNING');
    const attached = cluster
      .processes()
      .filter(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--attach'));
    // The script that runs it goes with it: nothing of the task is left to tell its end.
    const beside = cluster.processes().filter((found) => attached.some(({ session }) => session === found.session));
    // They stand still until it has ended: an agent that sees them gone ends by force what still runs.
    for (const { pid } of beside) process.kill(pid, 'SIGSTOP');
    writeFileSync(cluster.sandbox(spec, 'end'), '');
    await waitFor(
      'its end',
      () => podman.podman('inspect', '--format', '{{.State.Status}}', `se-${spec.taskId}`).trim() === 'exited',
    );
    for (const { pid } of beside) process.kill(pid, 'SIGKILL');
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('Exit code 3');
  });

  describe('images', () => {
    let registry: Awaited<ReturnType<typeof startRegistry>>;
    beforeAll(async () => {
      const folder = join(podman.folder, 'pushed');
      podman.addImage('localhost/other:1', 'LABEL of=registry');
      podman.podman('push', '--quiet', 'localhost/other:1', `dir:${folder}`);
      podman.podman('rmi', '--', 'localhost/other:1');
      registry = await startRegistry(folder, 'reader', 'password');
      podman.trust(registry.server);
    });
    afterAll(() => registry.close());
    const login = () => ({ registryLogin: { user: 'reader', password: 'password', server: registry.server } });
    const has = (name: string) =>
      podman.podman('images', '--format={{.Repository}}:{{.Tag}}').split('\n').includes(name);

    test('that the agent has pulled are removed when no task has used them for long, or they take too much', async () => {
      const name = `${registry.server}/app:1`;
      await start({ ...login(), imageCacheMegabytes: 0 });
      const spec = await cluster.launch('', shell('exec sleep 600', { container: docker({ image: name }) }));
      await cluster.untilState(spec, 'TASK_RUNNING');
      expect(has(name)).toBe(true);
      await cluster.driver.kill(spec.taskId, 's1', 0, 1);
      await cluster.untilState(spec, 'TASK_KILLED');
      await waitFor('the removal', () => !has(name), { timeoutMillis: 60_000 });
      // What was there before is the operator's.
      expect(has(image)).toBe(true);
    });

    test('are not pulled into what has to stay free of the disk', async () => {
      const disk = tempFolder();
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m,mode=755', 'muster-test', disk.path]);
      try {
        const own = podman.settings.engineArguments.filter((word) => !word.startsWith('--root='));
        const engineArguments = [...own, `--root=${disk.path}/root`];
        const large = join(podman.folder, 'large');
        podman.addLargeImage('localhost/large:1', 60);
        podman.podman('push', '--quiet', 'localhost/large:1', `dir:${large}`);
        podman.podman('rmi', '--', 'localhost/large:1');
        const other = await startRegistry(large, 'reader', 'password');
        podman.trust(other.server);
        const registryLogin = { ...login().registryLogin, server: other.server };
        await start({ registryLogin, engineArguments, maxDockerPullAttempts: 1 }, { reservedDiskMb: 10 });
        const spec = await run(shell('true', { container: docker({ image: `${other.server}/app:1` }) }));
        expect(end(spec)).toMatchObject({
          state: 'TASK_LOST',
          message: expect.stringMatching(/does not fit|no space left/),
        });
        await other.close();
        await cluster.close();
        // The engine tidies up when it is asked again.
        expect(execFileSync(podman.engine, [...engineArguments, 'images', '--quiet'], { encoding: 'utf8' })).toBe('');
        const { bavail, bsize } = statfsSync(disk.path);
        expect(bavail * bsize).toBeGreaterThan(20 * 1024 * 1024);
      } finally {
        execFileSync('umount', ['--lazy', '--', disk.path]);
        disk.remove();
      }
    });
  });
});
