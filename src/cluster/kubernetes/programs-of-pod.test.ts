import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { ProgramsOfLaunch } from '../../core/model/launch.js';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import type { Container, ContainerStatus, Pod } from './objects.js';
import { podOfTask } from './pod-of-task.js';
import { programsOfPod } from './program-statuses.js';
import { statusesOfPod } from './statuses-of-pod.js';
import { whyGivenUp } from './wait-of-pod.js';

const settings = KubernetesSettings.parse({ image: 'default:1' });
const command = (value: string) => ({ shell: true, value, arguments: [] });
const step = (name: string, value = 'true', timeoutMillis = 60_000) => ({
  name,
  command: command(value),
  environment: { OWN: 'a $b' },
  timeoutMillis,
});
const sidecar = (name: string, cpus = 0.5, memoryMb = 16) => ({
  name,
  command: command('true'),
  environment: {},
  cpus,
  memoryMb,
});
const podWith = (programs: Partial<ProgramsOfLaunch>): Pod =>
  podOfTask(
    launchSpec({
      slaveId: 'n1',
      cpus: 1,
      memoryMb: 64,
      killGraceMillis: 10_000,
      environment: { OF_TASK: 'x', OWN: 'y' },
      secretEnvironment: [{ name: 'PASSWORD', secret: 'db', key: 'password' }],
      programs: { init: [], sidecars: [], post: [], ...programs },
    }),
    settings,
  );
const around = (programs: Partial<ProgramsOfLaunch>): Container[] => podWith(programs).spec?.initContainers ?? [];

describe('the pod of a task with programs around the main one', () => {
  const pod = podWith({
    init: [step('a'), step('b')],
    sidecars: [sidecar('c')],
    post: [step('d'), step('e', '', 500)],
  });
  const [main] = pod.spec!.containers!;
  const initContainers = pod.spec!.initContainers!;

  test('has init steps, then one container for all post steps, then sidecars', () =>
    expect(initContainers.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([
      ['init-a', undefined],
      ['init-b', undefined],
      ['post', 'Always'],
      ['sidecar-c', 'Always'],
    ]));

  test('shares image, user, files and variables among them, and its ports and hooks are those of the main one', () => {
    const [first] = initContainers;
    for (const member of ['image', 'securityContext', 'volumeMounts', 'workingDir'])
      expect(first![member]).toEqual(main![member]);
    expect(first).not.toHaveProperty('ports');
    expect(first!['env']).toEqual(
      expect.arrayContaining([
        { name: 'OF_TASK', value: 'x' },
        { name: 'OWN', value: 'a $$b' },
        { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } },
      ]),
    );
  });

  test('has the resources of the task: sidecars their own, the main one the rest, and steps what that has', () => {
    expect(main!.resources?.requests).toMatchObject({ cpu: '500m', memory: '48Mi' });
    const [a, , post, c] = initContainers;
    expect(a!.resources).toEqual(main!.resources);
    expect(c!.resources).toEqual({ requests: { cpu: '500m', memory: '16Mi' }, limits: { memory: '16Mi' } });
    expect(post!.resources?.requests).toEqual({ cpu: '0', memory: '0' });
  });

  test('may take the time of its post steps to end, too', () => {
    expect(pod.spec?.['terminationGracePeriodSeconds']).toBe(10 + 60 + 1);
    expect(pod.metadata?.annotations?.['muster/post-seconds']).toBe('61');
  });

  test('is as any other where there are none', () =>
    expect(podOfTask(launchSpec({ slaveId: 'n1' }), settings).spec).not.toHaveProperty('initContainers'));
});

/** A signal is one bit in the numbers of a process; SIGTERM is 15. */
function handlesTerm(pid: number): boolean {
  const [, caught = '0'] = /^SigCgt:\t([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (BigInt(`0x${caught}`) >> 14n) % 2n === 1n;
}

/** The words of a container, run by the shell of this machine, with the message for the kubelet in a file of the folder. */
describe('the script of a container:', () => {
  let folder: ReturnType<typeof tempFolder>;
  let children: ChildProcess[];
  beforeEach(() => {
    folder = tempFolder();
    children = [];
  });
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
    folder.remove();
  });
  // A task may have variables of any name.
  const variables = { SHARED: 'shared', isOver: '1', begun: 'x', nap: 'x' };
  const start = (container: Container): ChildProcess => {
    const [program = '', ...words] = (container['command'] as string[]).map((word) =>
      word.replaceAll('$$', () => '$').replaceAll('/dev/termination-log', join(folder.path, 'message')),
    );
    const child = spawn(program, words, { cwd: folder.path, env: { ...process.env, ...variables } });
    children.push(child);
    return child;
  };
  const exitCode = async (of: ChildProcess) => ((await once(of, 'exit')) as [number | null])[0];
  const text = (name: string) => readFileSync(join(folder.path, name), 'utf8');

  test.each([0, 3])('a step ends with the exit code of its program: %i', async (code) => {
    const name = `ends-${code}`;
    const [container] = around({ init: [step(name, `echo $SHARED; echo "it's" >&2; exit ${code}`)] });
    expect(await exitCode(start(container!))).toBe(code);
    expect([text(`${name}.stdout`), text(`${name}.stderr`)]).toEqual(['shared\n', "it's\n"]);
  });

  test('a step hands on the signal that it gets', async () => {
    const [container] = around({
      init: [step('told', "trap 'echo told; exit 7' TERM; echo ready; while :; do sleep 0.02; done")],
    });
    const running = start(container!);
    await waitFor('its program', () => text('told.stdout') === 'ready\n');
    running.kill('SIGTERM');
    expect(await exitCode(running)).toBe(7);
    expect(text('told.stdout')).toBe('ready\ntold\n');
  });

  test('a step that takes too long ends it, and says so', async () => {
    const [container] = around({ init: [step('slow', 'exec sleep 613', 1_000)] });
    expect(await exitCode(start(container!))).toBe(137);
    expect(text('message')).toBe('late');
  });

  test.each([
    ['a sidecar', { sidecars: [{ ...sidecar('early'), command: command('exec sleep 615') }] }, 143],
    ['post steps', { post: [step('early', 'echo ran')] }, 0],
  ])('%s told to end in the moment that they hear of it do so', async (_, programs, code) => {
    const [container] = around(programs);
    const running = Array.from({ length: 40 }, () => {
      const one = start(container!);
      while (!handlesTerm(one.pid!)) continue;
      one.kill('SIGTERM');
      return one;
    });
    const haveEnded = () => running.every((one) => one.exitCode !== null || one.signalCode !== null);
    await waitFor('their ends', haveEnded, { timeoutMillis: 20_000 });
    expect(new Set(running.map((one) => one.exitCode))).toEqual(new Set([code]));
  });

  test('a sidecar that ends at once is there until a kubelet has seen it, and ends with its exit code', async () => {
    const [container] = around({ sidecars: [{ ...sidecar('short'), command: command('echo ended; exit 4') }] });
    const began = performance.now();
    expect(await exitCode(start(container!))).toBe(4);
    // Kubelets look at their containers each second.
    expect(performance.now() - began).toBeGreaterThan(2_000);
    expect(text('short.stdout')).toBe('ended\n');
  });

  test('a sidecar that is told to end does so at once, with the exit code of its program', async () => {
    const value = "trap 'exit 7' TERM; echo ready; sleep 9 & wait";
    const [container] = around({ sidecars: [{ ...sidecar('told'), command: command(value) }] });
    const running = Array.from({ length: 20 }, () => start(container!));
    await waitFor('their programs', () => text('told.stdout') === 'ready\n'.repeat(running.length));
    for (const one of running) one.kill('SIGTERM');
    expect(new Set(await Promise.all(running.map(exitCode)))).toEqual(new Set([7]));
  });

  test('post steps do nothing until they are told to end, and run each then, whatever became of those before', async () => {
    const [container] = around({
      post: [step('one', 'echo "$OWN"; exit 4'), step('late', 'exec sleep 614', 1_000), step('last', 'echo last')],
    });
    const running = start(container!);
    await waitFor('its trap', () => handlesTerm(running.pid!));
    expect(existsSync(join(folder.path, 'one.stdout'))).toBe(false);
    running.kill('SIGTERM');
    expect(await exitCode(running)).toBe(0);
    expect([text('one.stdout'), text('last.stdout')]).toEqual(['a $b\n', 'last\n']);
    const status = { name: 'post', state: { terminated: { exitCode: 0, message: text('message') } } };
    expect(
      programsOfPod({ status: { initContainerStatuses: [status] } }).map(({ name, state, exitCode: code }) => [
        name,
        state,
        code,
      ]),
    ).toEqual([
      ['one', 'FAILED', 4],
      ['late', 'FAILED', undefined],
      ['last', 'SUCCEEDED', 0],
    ]);
  });
});

describe('what a pod tells of them', () => {
  const created = '2026-01-01T00:00:00Z';
  const at = (seconds: number): string => new Date(Date.parse(created) + seconds * 1_000).toISOString();
  const podOf = (status: Pod['status'], metadata: Pod['metadata'] = {}): Pod => ({
    metadata: { creationTimestamp: created, ...metadata },
    spec: { initContainers: [{ name: 'init-a' }, { name: 'sidecar-b', restartPolicy: 'Always' }] },
    status: { phase: 'Pending', ...status },
  });
  const ended = (exitCode: number, more: object = {}) => ({ terminated: { exitCode, finishedAt: at(5), ...more } });
  const states = (...initContainerStatuses: ContainerStatus[]) =>
    programsOfPod(podOf({ initContainerStatuses })).map(({ name, state, starts, exitCode, message }) => ({
      name,
      state,
      starts,
      exitCode,
      message,
    }));

  test.each<{ name: string; of: ContainerStatus; is: object[] }>([
    { name: 'an init step that waits', of: { name: 'init-a', state: { waiting: {} } }, is: [] },
    {
      name: 'an init step that runs',
      of: { name: 'init-a', state: { running: { startedAt: at(1) } } },
      is: [{ name: 'a', state: 'RUNNING', starts: 1 }],
    },
    {
      name: 'one that succeeded',
      of: { name: 'init-a', state: ended(0) },
      is: [{ name: 'a', state: 'SUCCEEDED', starts: 1, exitCode: 0, message: 'Exit code 0' }],
    },
    {
      name: 'one that took too long',
      of: { name: 'init-a', state: ended(137, { message: 'late' }) },
      is: [{ name: 'a', state: 'FAILED', starts: 1, exitCode: 137, message: 'It took longer than it may' }],
    },
    {
      name: 'a sidecar that runs again',
      of: { name: 'sidecar-b', restartCount: 2, state: { running: {} }, lastState: ended(1) },
      is: [{ name: 'b', state: 'RUNNING', starts: 3 }],
    },
    {
      name: 'a sidecar that waits to be started again',
      of: { name: 'sidecar-b', restartCount: 1, state: { waiting: {} }, lastState: ended(1) },
      is: [{ name: 'b', state: 'FAILED', starts: 2, exitCode: 1, message: 'Ended with exit code 1' }],
    },
    { name: 'a container of others', of: { name: 'injected', state: { running: {} } }, is: [] },
  ])('$name', ({ of, is }) => expect(states(of)).toEqual(is));

  test('a sidecar that ends after the main container has done so as it should', () => {
    const pod = podOf({
      containerStatuses: [{ name: 'task', state: ended(0) }],
      initContainerStatuses: [{ name: 'sidecar-b', state: ended(143) }],
    });
    expect(programsOfPod(pod)).toMatchObject([{ state: 'SUCCEEDED', exitCode: 143 }]);
  });

  test('a task whose init step failed has failed, with its reason', () => {
    const pod = podOf({
      phase: 'Failed',
      containerStatuses: [{ name: 'task', state: { waiting: { reason: 'PodInitializing' } } }],
      initContainerStatuses: [{ name: 'init-a', state: ended(3) }],
    });
    expect(statusesOfPod(pod).at(-1)).toMatchObject({
      state: 'TASK_FAILED',
      message: 'Init step a ended with exit code 3',
    });
  });

  test('a task whose main container has ended before its pod is about to end', () => {
    const status = { phase: 'Running', containerStatuses: [{ name: 'task', state: ended(0, { startedAt: at(1) }) }] };
    expect(statusesOfPod(podOf(status)).map(({ state }) => state)).toEqual([
      'TASK_STARTING',
      'TASK_RUNNING',
      'TASK_KILLING',
    ]);
    const post = { name: 'post', state: ended(0, { message: 'a 1\nb 0\n' }) };
    const over = podOf({ ...status, phase: 'Succeeded', initContainerStatuses: [post] });
    expect(statusesOfPod(over).at(-1)).toMatchObject({
      state: 'TASK_FINISHED',
      message: 'Exit code 0; post step a ended with exit code 1',
    });
  });

  test('a pod is not given up while an init step runs, and has its time after that', () => {
    const waiting = [{ name: 'task', state: { waiting: { reason: 'PodInitializing' } } }];
    const late = Date.parse(at(1_000));
    const running = podOf({
      containerStatuses: waiting,
      initContainerStatuses: [{ name: 'init-a', state: { running: {} } }],
    });
    expect(whyGivenUp(running, late, 60_000)).toBeUndefined();
    const over = podOf({
      containerStatuses: waiting,
      initContainerStatuses: [{ name: 'init-a', state: { terminated: { exitCode: 0, finishedAt: at(990) } } }],
    });
    expect(whyGivenUp(over, late, 60_000)).toBeUndefined();
    expect(whyGivenUp(over, Date.parse(at(1_100)), 60_000)).toMatch(
      /^Did not start within 60 s: Its node .* has not begun/,
    );
    const noImage = podOf({
      containerStatuses: waiting,
      initContainerStatuses: [{ name: 'init-a', state: { waiting: { reason: 'ErrImageNeverPull' } } }],
    });
    expect(whyGivenUp(noImage, Date.parse(at(1)), 60_000)).toMatch(
      /^Could not start: Its node .* cannot pull image .*: ErrImageNeverPull$/,
    );
  });
});
