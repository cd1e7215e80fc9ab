import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { agentProgram } from '../support/agent-programs.js';
import type { ContainerInfo, DockerInfo } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tarOf } from '../support/archives.js';
import { image, type TestPodman, testPodman, withoutPodman } from '../support/podman.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

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
const managed = (cmd: string, data: object = {}, more: Partial<LaunchSpec> = {}): Partial<LaunchSpec> => ({
  container: docker(),
  command: { shell: true, value: cmd, arguments: [] },
  executorData: { cmd, ...data },
  ...more,
});

/** Engines take their time where many tests run at once. */
const timeout = 120_000;

describe.skipIf(withoutPodman !== undefined)(
  `containers with podman (${withoutPodman ?? 'installed'})`,
  { timeout },
  () => {
    let podman: TestPodman;
    let cluster: AgentCluster;
    beforeAll(() => {
      podman = testPodman();
    }, 120_000);
    afterAll(() => {
      podman.remove();
    });
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
    const area = (spec: LaunchSpec) => spec.taskId.replaceAll(':', '_');

    test('container only: the image runs the command, its output and its exit code are those of the task', async () => {
      await start();
      const spec = await run(
        shell('echo out $WHO $CLUSTER_TASK_ID; echo err >&2; id -u; cat /proc/1/cmdline | head -c 5; exit 7', {
          environment: { WHO: 'a "b" $c' },
        }),
      );
      expect(end(spec)).toMatchObject({ state: 'TASK_FAILED', message: 'Exit code 7' });
      expect(cluster.seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FAILED']);
      const [out, user] = cluster.output(spec).split('\n');
      expect(out).toBe(`out a "b" $c ${spec.taskId}`);
      expect(Number(user)).toBeGreaterThan(1_000);
      expect(cluster.output(spec, 'stderr')).toBe('err\n');
    });

    test('a command without a shell is a program with its arguments; without one the image says what runs', async () => {
      await start();
      const spec = await run({
        container: docker(),
        command: { shell: false, value: 'echo', arguments: ['--x', '$HOME', 'a b'] },
      });
      expect(cluster.output(spec)).toBe('--x $HOME a b\n');
      const none = await run({
        container: docker({ dockerParameters: [{ key: 'entrypoint', value: '/bin/echo' }] }),
        command: { shell: false, value: '', arguments: ['hi'] },
      });
      expect(cluster.output(none)).toBe('hi\n');
    });

    test('an executor: the task folder is mounted, app/ is where it runs, its files are there', async () => {
      await start();
      const spec = await run(
        managed(
          "sh -c 'pwd; echo $LOG_HOME $HOST_SANDBOX_DIR; ls ..; echo made > made; exit 3'",
          {
            successfulExitCodes: [3],
          },
          { successfulExitCodes: [3], environment: { A: 'b' } },
        ),
      );
      expect(end(spec)).toMatchObject({ state: 'TASK_FINISHED', message: 'Exit code 3' });
      const at = (name: string) => cluster.sandbox(spec, area(spec), name);
      const [folder, variables, ...files] = readFileSync(at('tail_of_finished_service.log'), 'utf8').trim().split('\n');
      expect(folder).toBe('/mnt/cluster/sandbox/app');
      expect(variables).toBe(`/mnt/cluster/sandbox/logs ${cluster.sandbox(spec, area(spec))}`);
      expect(files).toEqual(
        expect.arrayContaining(['app', 'docker.env', 'docker_image.json', 'logs', 'service.log', 'tmp']),
      );
      expect(readFileSync(at('app/made'), 'utf8')).toBe('made\n');
      expect(readFileSync(at('docker.env'), 'utf8')).toContain('A=b\n');
      expect(JSON.parse(readFileSync(at('docker_image.json'), 'utf8'))).toMatchObject([{ RepoTags: [image] }]);
    });

    test('files of uris are where the container sees its sandbox, with and without an executor', async () => {
      const given = tempFolder();
      const archive = join(given.path, 'data.tar.gz');
      writeFileSync(archive, gzipSync(tarOf([{ name: 'data', content: 'of the uri\n' }])));
      await start({}, { allowedArtifactPaths: [given.path] });
      const artifacts = [{ uri: archive, cache: false, executable: false, extract: true }];
      const script = 'cat /mnt/cluster/sandbox/data';
      const plain = await run({ ...shell(script), artifacts });
      expect(cluster.output(plain)).toBe('of the uri\n');
      const executed = await run({ ...managed(script), artifacts });
      expect(end(executed)).toMatchObject({ state: 'TASK_FINISHED' });
      const log = cluster.sandbox(executed, area(executed), 'tail_of_finished_service.log');
      expect(readFileSync(log, 'utf8')).toBe('of the uri\n');
      given.remove();
    });

    test('a kill asks it first, and ends it by force after the grace', async () => {
      await start();
      const gentle = await launch(
        shell('trap "echo bye; exit 5" TERM; echo up; while :; do sleep 0.05; done', { killGraceMillis: 20_000 }),
      );
      await waitFor('up', () => cluster.output(gentle).includes('up'));
      await cluster.untilState(gentle, 'TASK_RUNNING');
      await cluster.driver.kill(gentle.taskId, 's1', 20_000, 1);
      expect(await cluster.untilState(gentle, 'TASK_KILLED')).toContain('Killed gracefully, exit code 5');
      expect(cluster.output(gentle)).toContain('bye');
      const stubborn = await launch(shell('trap "" TERM; while :; do sleep 0.05; done'));
      await cluster.untilState(stubborn, 'TASK_RUNNING');
      await cluster.driver.kill(stubborn.taskId, 's1', 500, 1);
      expect(await cluster.untilState(stubborn, 'TASK_KILLED')).toContain('by force');
    });

    test('memory: what exceeds it fails with that reason', async () => {
      await start();
      const spec = await run(shell('dd if=/dev/zero of=/dev/null bs=200M count=1; sleep 30; exit 9', { memoryMb: 32 }));
      expect(end(spec)).toMatchObject({ state: 'TASK_FAILED', reason: 'REASON_CONTAINER_LIMITATION_MEMORY' });
    });

    test('threads: what has more than it may is ended, and none of the engine is counted', async () => {
      await start({}, { checkThreadsEveryMillis: 200 });
      const few = await launch(managed('sleep 600', { maxTaskThreads: 3 }));
      await cluster.untilState(few, 'TASK_RUNNING');
      const many = await run(managed('sh -c "for i in 1 2 3 4 5 6; do sleep 600 & done; wait"', { maxTaskThreads: 3 }));
      expect(end(many)).toMatchObject({ state: 'TASK_FAILED', message: 'Killed for too many threads: 7, limit 3' });
      expect(cluster.seen.statesOf(few.taskId).at(-1)).toBe('TASK_RUNNING');
      const usage = await cluster.driver.statistics(few.taskId, 's1');
      expect(usage).toMatchObject({ memLimitBytes: 64 * 1024 * 1024 });
      expect(usage!.memTotalBytes).toBeGreaterThan(0);
      expect(usage!.memTotalBytes).toBeLessThan(20_000_000);
      await cluster.driver.kill(few.taskId, 's1', 0, 1);
      await cluster.untilState(few, 'TASK_KILLED');
    });

    test('shell commands run inside, as process 1 sees it', async () => {
      await start(
        {},
        {
          shellCommands: [
            { name: 'who', command: ['sh', '-c', 'echo pid $1 in $TASK_SANDBOX_DIR; id -u', 'sh', '{PID}'] },
          ],
        },
      );
      const spec = await launch(managed('sleep 600'));
      await cluster.untilState(spec, 'TASK_RUNNING');
      await cluster.driver.runCommand({ taskId: spec.taskId, name: 'who', timestamp: 5, options: [] }, 's1', 1);
      const last = await waitFor('the end of the command', () =>
        cluster.seen.updates.find((update) => update.shellCommand?.updateType === 'FINISHED'),
      );
      const text = readFileSync(cluster.sandbox(spec, last.shellCommand!.outputFilename!), 'utf8');
      expect(text).toContain('pid 1 in /mnt/cluster/sandbox\n');
      await cluster.driver.kill(spec.taskId, 's1', 0, 1);
      await cluster.untilState(spec, 'TASK_KILLED');
    });

    test('an agent that is killed finds its containers again, and what ended meanwhile with its exit code', async () => {
      await start();
      const goesOn = await launch(shell('exec sleep 600'));
      const ends = await launch(managed('sh -c "while [ ! -e end ]; do sleep 0.05; done; exit 9"'));
      for (const spec of [goesOn, ends]) await cluster.untilState(spec, 'TASK_RUNNING');
      await cluster.killAgent();
      writeFileSync(cluster.sandbox(ends, area(ends), 'app/end'), '');
      await waitFor('the exit file', () => existsSync(cluster.control(ends, 'exit')), { timeoutMillis: 20_000 });
      expect(podman.names()).toEqual([`se-${goesOn.taskId}`]);
      await cluster.startAgent();
      expect(await cluster.untilState(ends, 'TASK_FAILED')).toBe('Exit code 9');
      expect(await cluster.driver.launch([goesOn], 1)).toMatchObject([{ outcome: 'ACCEPTED', state: 'TASK_RUNNING' }]);
      expect(podman.names()).toEqual([`se-${goesOn.taskId}`]);
      await waitFor(
        'figures',
        async () => ((await cluster.driver.statistics(goesOn.taskId, 's1'))?.memTotalBytes ?? 0) > 0,
      );
      await cluster.driver.kill(goesOn.taskId, 's1', 0, 1);
      await cluster.untilState(goesOn, 'TASK_KILLED');
      expect(cluster.seen.statesOf(goesOn.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_KILLED']);
    });

    test('a container that no task is left of is removed by the next agent', async () => {
      await start();
      const spec = await launch(shell('exec sleep 600'));
      await cluster.untilState(spec, 'TASK_RUNNING');
      const labels = podman.podman(
        'container',
        'inspect',
        '--format={{index .Config.Labels "muster.agent"}}',
        `se-${spec.taskId}`,
      );
      podman.podman('create', '--name=left', `--label=muster.agent=${labels.trim()}`, '--network=host', image, 'true');
      podman.podman('create', '--name=of-others', '--label=muster.agent=other', '--network=host', image, 'true');
      await cluster.restartAgent();
      await waitFor('the removal', () => !podman.names().includes('left'), { timeoutMillis: 20_000 });
      expect(podman.names().toSorted()).toEqual(['of-others', `se-${spec.taskId}`]);
      podman.podman('rm', '--force', 'of-others');
      await cluster.driver.kill(spec.taskId, 's1', 0, 1);
      await cluster.untilState(spec, 'TASK_KILLED');
    });

    test('an image that the machine does not have, and that no registry gives, fails the task with the reason', async () => {
      await start({ maxDockerPullAttempts: 2 });
      const spec = await run(shell('true', { container: docker({ image: '127.0.0.1:1/none' }) }));
      expect(end(spec)).toMatchObject({
        state: 'TASK_FAILED',
        message: expect.stringContaining('Cannot pull 127.0.0.1:1/none'),
      });
      const messages = cluster.seen.updates.map(({ message }) => message);
      expect(messages[0]).toMatch(/^Pulling image 127.0.0.1:1\/none, executor pid \d+$/);
      expect(cluster.output(spec, 'stderr')).toContain('Cannot pull');
      const forced = await run(shell('true', { container: docker({ forcePullImage: true }) }));
      expect(end(forced)).toMatchObject({ state: 'TASK_FAILED', message: expect.stringContaining('Cannot pull') });
      const unknown = await run(
        shell('true', { container: docker({ dockerParameters: [{ key: 'entrypoint', value: '/no/such' }] }) }),
      );
      expect(end(unknown)?.state).toBe('TASK_FAILED');
    });

    describe('an engine that hangs', () => {
      /** Real podman, except for the commands that a file names. */
      const engine = () => {
        const path = join(podman.folder, 'engine');
        const hanging = join(podman.folder, 'hanging');
        writeFileSync(hanging, '');
        writeFileSync(
          path,
          `#!/bin/sh\nfor word in "$@"; do grep -qxe "$word" ${hanging} && exec sleep 600; done\nexec ${podman.engine} "$@"\n`,
          { mode: 0o755 },
        );
        return {
          path,
          hang: (...commands: string[]) => writeFileSync(hanging, commands.map((each) => `${each}\n`).join('')),
        };
      };

      test.each([
        { command: 'create', state: 'TASK_LOST', says: 'create took longer than 3000 ms' },
        { command: 'start', state: 'TASK_LOST', says: 'The container did not run after 3 s' },
      ])('at $command: the task ends in time, and the agent answers meanwhile', async ({ command, state, says }) => {
        const { path, hang } = engine();
        await start({ engine: path, dockerClientTimeLimitSeconds: 3 });
        await cluster.run('true');
        hang(command);
        const spec = await launch(shell('sleep 600'));
        await cluster.run('true');
        await cluster.untilEnd(spec);
        expect(end(spec)).toMatchObject({ state, reason: 'REASON_CONTAINER_LAUNCH_FAILED' });
        expect(end(spec)!.message).toContain(says);
        hang();
      });

      test('while a container runs: it is killed all the same, and the next agent tidies up', async () => {
        const { path, hang } = engine();
        await start({ engine: path, dockerClientTimeLimitSeconds: 3 });
        const spec = await launch(shell('trap "" TERM; while :; do sleep 0.05; done'));
        await cluster.untilState(spec, 'TASK_RUNNING');
        hang('rm', 'inspect', 'kill', 'stop', 'exec');
        await cluster.driver.kill(spec.taskId, 's1', 300, 1);
        await waitFor('the end', () => end(spec)?.state === 'TASK_KILLED', { timeoutMillis: 40_000 });
        hang();
        await cluster.restartAgent();
        await waitFor('the removal', () => podman.names().length === 0, { timeoutMillis: 20_000 });
      });
    });

    describe('what it may reach', () => {
      test('it has no capabilities, gets none, and sees neither the agent nor other tasks', async () => {
        await start();
        const spec = await run(
          shell(
            'grep -E "NoNewPrivs|Cap(Eff|Bnd|Prm)" /proc/self/status; ls /run /var/run 2>&1; ls /proc | grep -c "^[0-9]"',
          ),
        );
        const text = cluster.output(spec);
        expect(text).toMatch(/CapPrm:\s+0{16}/);
        expect(text).toMatch(/CapEff:\s+0{16}/);
        expect(text).toMatch(/CapBnd:\s+0{16}/);
        expect(text).toMatch(/NoNewPrivs:\s+1/);
        expect(text).not.toContain('.sock');
      });

      test('a volume shows what the operator allows, read-only unless asked, and no link leads out of it', async () => {
        const open = join(podman.folder, 'open');
        mkdirSync(join(open, 'in'), { recursive: true });
        writeFileSync(join(open, 'in', 'file'), 'hello');
        symlinkSync('/etc', join(open, 'out'));
        await start({ allowedHostPaths: [open] });
        const volume = (hostPath: string) => docker({}, { volumes: [{ containerPath: '/data', hostPath }] });
        const spec = await run(shell('cat /data/file; touch /data/x; echo $?', { container: volume(`${open}/in`) }));
        expect(cluster.output(spec)).toBe('hello1\n');
        for (const [path, why] of [
          [`${open}/out`, 'must lie in a folder'],
          ['/etc', 'must lie in a folder'],
          [`${open}/../../etc`, "without '..'"],
        ] as const) {
          const refused = await run(shell('true', { container: volume(path) }));
          expect(end(refused), path).toMatchObject({ state: 'TASK_FAILED' });
          expect(JSON.stringify(end(refused)) + cluster.log.lines.join()).toMatch(/Volume|volumes/);
          expect(why).not.toBe('');
        }
      });

      test('links in place of the files that the agent writes for a container are not followed', async () => {
        await start();
        const targets = tempFolder();
        const target = (name: string) => join(targets.path, name);
        for (const name of ['out', 'tail', 'image']) writeFileSync(target(name), 'as it was\n');
        // While it runs: its log, the tail of it that is saved at the end, and what is rotated at the end.
        const spec = await run(
          managed(
            `sh -c 'cd ..; for each in service.log:out tail_of_finished_service.log:tail docker_image.json:image; do ` +
              `rm -f "\${each%:*}"; ln -s ${targets.path}/"\${each#*:}" "\${each%:*}"; done; ` +
              `rm -rf logs; ln -s ${targets.path} logs; ls -l; echo written; exit 0'`,
          ),
        );
        expect(end(spec)).toMatchObject({ state: 'TASK_FINISHED' });
        expect(lstatSync(cluster.sandbox(spec, area(spec), 'service.log')).isSymbolicLink()).toBe(true);
        for (const name of ['out', 'tail', 'image']) expect(readFileSync(target(name), 'utf8')).toBe('as it was\n');
        expect(readdirSync(targets.path).toSorted()).toEqual(['image', 'out', 'tail']);
        // Before it runs: links that an archive of the deploy puts there.
        const archive = join(targets.path, 'links.tar.gz');
        const links = ['service.log', 'stdout', 'stderr', 'docker_image.json'].map((name) => ({
          name,
          type: '2',
          linkTo: target('out'),
        }));
        writeFileSync(archive, gzipSync(tarOf(links)));
        await cluster.close();
        await start({}, { allowedArtifactPaths: [targets.path] });
        const plain = { artifacts: [{ uri: archive, cache: false, executable: false, extract: true }] };
        const inFolder = { externalArtifacts: [{ filename: 'links.tar.gz', url: archive }] };
        for (const changes of [
          { ...shell('echo written; echo error >&2'), ...plain },
          managed('echo written', inFolder),
        ]) {
          const early = await run(changes);
          expect(end(early)?.state).toBe('TASK_FAILED');
          expect(readFileSync(target('out'), 'utf8')).toBe('as it was\n');
          expect(podman.names()).toEqual([]);
        }
        targets.remove();
      });
    });
  },
);
