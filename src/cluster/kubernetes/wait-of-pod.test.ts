import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from './objects.js';
import { type NodeCondition, type ToldWait, waitToTell, whyGivenUp } from './wait-of-pod.js';

const created = '2026-01-01T00:00:00Z';
const at = (seconds: number): string => new Date(Date.parse(created) + seconds * 1_000).toISOString();
const millis = (seconds: number): number => Date.parse(at(seconds));

/** As a kubelet tells of a pod before it runs. */
const pod = ({ metadata, spec, ...status }: Pod['status'] & Pick<Pod, 'metadata' | 'spec'> = {}): Pod => ({
  metadata: { name: 'muster-web', creationTimestamp: created, ...metadata },
  spec: { nodeName: 'node-3', containers: [{ name: 'task', image: 'shop:7' }], ...spec },
  status: { phase: 'Pending', startTime: at(1), ...status },
});
const task = (reason: string, message?: string): ContainerStatus => ({
  name: 'task',
  state: { waiting: { reason, ...(message !== undefined && { message }) } },
});
const creating = task('ContainerCreating');
const initializing = task('PodInitializing');
const prepared = (status: 'True' | 'False') => ({ conditions: [{ type: 'PodReadyToStartContainers', status }] });

const ready: NodeCondition = { isAgentReady: true };
const told = (
  given: Pod,
  { seconds = 30, node = ready, before }: { seconds?: number; node?: NodeCondition; before?: ToldWait } = {},
) => waitToTell(given, node, millis(seconds), before);

describe('what is wrong is told at once', () => {
  const notFound = 'failed to pull and unpack image "docker.io/library/shop:7": not found';
  test.each<{ name: string; given: Pod; node?: NodeCondition; text: string }>([
    {
      name: 'an image that no registry has',
      given: pod({ containerStatuses: [task('ErrImagePull', notFound)] }),
      text: `Its node 'node-3' cannot pull image 'shop:7': ErrImagePull: ${notFound}`,
    },
    {
      name: 'the same while its kubelet backs off, in the words of the error',
      given: pod({
        containerStatuses: [task('ImagePullBackOff', `Back-off pulling image "shop:7": ErrImagePull: ${notFound}`)],
      }),
      text: `Its node 'node-3' cannot pull image 'shop:7': ErrImagePull: ${notFound}`,
    },
    {
      name: 'of an older kubelet, which backs off without the error',
      given: pod({ containerStatuses: [task('ImagePullBackOff', 'Back-off pulling image "shop:7"')] }),
      text: `Its node 'node-3' cannot pull image 'shop:7': ImagePullBackOff: Back-off pulling image "shop:7"`,
    },
    {
      name: 'a secret of a variable that is not there',
      given: pod({ containerStatuses: [task('CreateContainerConfigError', 'secret "keys" not found')] }),
      text: `Its node 'node-3' cannot start its container: CreateContainerConfigError: secret "keys" not found`,
    },
    {
      name: 'the image of an init step, while the main program waits for its turn',
      given: pod({
        spec: { initContainers: [{ name: 'init-migrate', image: 'migrate:1' }] },
        initContainerStatuses: [
          { name: 'init-migrate', state: { waiting: { reason: 'ErrImagePull', message: 'no' } } },
        ],
        containerStatuses: [initializing],
      }),
      text: `Its node 'node-3' cannot pull image 'migrate:1': ErrImagePull: no`,
    },
    {
      name: 'a container of others that ends again and again',
      given: pod({
        initContainerStatuses: [
          { name: 'added', state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } } },
        ],
        containerStatuses: [initializing],
      }),
      text: `Its node 'node-3' cannot start container 'added' of its pod: CrashLoopBackOff: back-off 10s`,
    },
    {
      name: 'a node that is not ready',
      given: pod({ containerStatuses: [creating] }),
      node: { ...ready, notReady: 'KubeletNotReady: cni plugin not initialized' },
      text: `Its node 'node-3' is not ready: KubeletNotReady: cni plugin not initialized`,
    },
  ])('$name', ({ given, node = ready, text }) => expect(told(given, { seconds: 0, node })?.text).toBe(text));
});

describe('what every start takes a moment for is told when it takes longer', () => {
  const volumes = [
    { name: 'a', secret: { secretName: 'keys' } },
    { name: 'b', persistentVolumeClaim: { claimName: 'data-1' } },
    { name: 'c', configMap: { name: 'settings' } },
    { name: 'd', emptyDir: {} },
  ];
  const running = { running: { startedAt: created } };
  test.each<{ name: string; given: Pod; node?: NodeCondition; text: RegExp }>([
    {
      name: 'its kubelet',
      given: pod({ startTime: undefined }),
      text: /^Its node 'node-3' has not begun to start it$/,
    },
    {
      name: 'volumes, which are named',
      given: pod({ spec: { volumes }, containerStatuses: [creating], ...prepared('False') }),
      text: /prepares its volumes \(secret 'keys', claim 'data-1', config map 'settings'\) and network; kubectl describe pod muster-web/,
    },
    {
      name: 'what a kubelet does not tell apart',
      given: pod({ containerStatuses: [creating] }),
      text: /prepares its volumes, network and images;/,
    },
    {
      name: 'a long pull',
      given: pod({ containerStatuses: [creating], ...prepared('True') }),
      text: /^Its node 'node-3' pulls its images, or makes its containers/,
    },
    {
      name: 'an init step',
      given: pod({ initContainerStatuses: [{ name: 'init-a', state: running }], containerStatuses: [initializing] }),
      text: /^Init step 'a' runs before it$/,
    },
    {
      name: 'a container of others that runs first',
      given: pod({ initContainerStatuses: [{ name: 'wait', state: running }], containerStatuses: [initializing] }),
      text: /^Container 'wait' of its pod runs before it$/,
    },
    {
      name: 'files that its agent fetches',
      given: pod({ initContainerStatuses: [{ name: 'artifacts', state: running }], containerStatuses: [initializing] }),
      text: /^The agent of node 'node-3' fetches its files$/,
    },
    {
      name: 'files, where that agent is away',
      given: pod({ initContainerStatuses: [{ name: 'artifacts', state: running }], containerStatuses: [initializing] }),
      node: { isAgentReady: false },
      text: /^Its files wait for the agent of node 'node-3', which is not ready$/,
    },
    {
      name: 'its probe',
      given: pod({ phase: 'Running', containerStatuses: [{ name: 'task', started: false, state: running }] }),
      text: /^Its main program runs, and the probe of its start has not passed$/,
    },
  ])('$name', ({ given, node = ready, text }) => {
    expect(told(given, { seconds: 9, node })).toBeUndefined();
    expect(told(given, { seconds: 10, node })?.text).toMatch(text);
  });
  test('counted from the end of the last step before', () => {
    const ended = { terminated: { exitCode: 0, finishedAt: at(25) } };
    const given = pod({ initContainerStatuses: [{ name: 'init-a', state: ended }], containerStatuses: [creating] });
    expect(told(given, { seconds: 34 })).toBeUndefined();
    expect(told(given, { seconds: 35 })).toBeDefined();
  });
});

test.each([
  { name: 'runs', given: pod({ containerStatuses: [{ name: 'task', started: true, state: { running: {} } }] }) },
  { name: 'has ended', given: pod({ phase: 'Failed', containerStatuses: [task('ErrImagePull')] }) },
  { name: 'is over', given: pod({ containerStatuses: [{ name: 'task', state: { terminated: { exitCode: 0 } } }] }) },
  {
    name: 'is deleted',
    given: pod({ metadata: { deletionTimestamp: at(1) }, containerStatuses: [task('ErrImagePull')] }),
  },
])('one that $name waits for nothing, and is not given up', ({ given }) => {
  expect(told(given)).toBeUndefined();
  expect(whyGivenUp(given, millis(9_999), 1)).toBeUndefined();
});

describe('told again', () => {
  /** What is told of these, one after the other, each so many seconds after the one before. */
  function follow(everySeconds: number, pods: readonly Pod[]): string[] {
    let before: ToldWait | undefined;
    return pods.flatMap((given, index) => {
      const next = told(given, { seconds: 10 + index * everySeconds, before });
      before = next ?? before;
      return next ? [next.text.replace(/^Its node 'node-3' cannot /, '')] : [];
    });
  }
  const main = (reason: string, message: string) => pod({ containerStatuses: [task(reason, message)] });
  const added = (state: ContainerStatus['state']) =>
    pod({ initContainerStatuses: [{ name: 'added', state }], containerStatuses: [initializing] });
  const many = <T>(items: T[]): T[] => Array.from({ length: 50 }, () => items).flat();

  test.each([
    { name: 'which names the error', backOff: 'Back-off pulling image "shop:7": ErrImagePull: no' },
    { name: 'which does not', backOff: 'Back-off pulling image "shop:7"' },
  ])('a pull is once, however often its kubelet backs off, $name', ({ backOff }) =>
    expect(follow(60, many([main('ErrImagePull', 'no'), main('ImagePullBackOff', backOff)]))).toEqual([
      "pull image 'shop:7': ErrImagePull: no",
    ]),
  );
  test('another error is', () =>
    expect(follow(60, [main('ErrImagePull', 'no route'), main('ErrImagePull', 'not found')])).toHaveLength(2));
  test('a pause that grows is not', () => {
    const pauses = [10, 20, 40].map((each) => added({ waiting: { reason: 'CrashLoopBackOff', message: `${each}s` } }));
    expect(follow(60, pauses)).toHaveLength(1);
  });
  test('what takes its time is, beside a pause, twice a minute at most', () => {
    const pause = added({ waiting: { reason: 'CrashLoopBackOff', message: '10s' } });
    const runs = added({ running: { startedAt: created } });
    expect(follow(2, many([pause, runs])).length).toBeLessThanOrEqual(2 * ((100 * 2) / 30 + 1));
  });
  test('what takes its time is, when it is another thing by now', () =>
    expect(
      follow(40, [
        pod({ containerStatuses: [creating], ...prepared('False') }),
        pod({ containerStatuses: [creating], ...prepared('False') }),
        pod({ containerStatuses: [creating], ...prepared('True') }),
      ]),
    ).toHaveLength(2));
});

test('words of others have an end', () => {
  const given = pod({ containerStatuses: [task('ErrImagePull', 'x'.repeat(5_000))] });
  expect(told(given)?.text).toHaveLength(1_000);
  expect(whyGivenUp(given, millis(60), 60_000)).toHaveLength(1_000);
});

test.each([
  { name: 'one that waits', waiting: { reason: 'ContainerCreating' }, seconds: 59, why: undefined },
  {
    name: 'one that waits too long',
    waiting: { reason: 'ImagePullBackOff', message: 'no' },
    seconds: 60,
    why: "Did not start within 60 s: Its node 'node-3' cannot pull image 'shop:7': ImagePullBackOff: no",
  },
  {
    name: 'one that waits too long, and whose kubelet does not say why',
    waiting: { reason: 'ContainerCreating' },
    seconds: 60,
    why: "Did not start within 60 s: Its node 'node-3' prepares its volumes, network and images; kubectl describe pod muster-web may tell more",
  },
  {
    name: 'an image that is no name',
    waiting: { reason: 'InvalidImageName' },
    seconds: 1,
    why: "Could not start: Its node 'node-3' cannot pull image 'shop:7': InvalidImageName",
  },
])('$name is given up: $why', ({ waiting, seconds, why }) =>
  expect(whyGivenUp(pod({ containerStatuses: [{ name: 'task', state: { waiting } }] }), millis(seconds), 60_000)).toBe(
    why,
  ),
);

test('a container of others beside the main one neither holds it up nor has it given up', () => {
  const added = { name: 'added', state: { waiting: { reason: 'CreateContainerConfigError' } } };
  const given = pod({ containerStatuses: [added, creating] });
  expect(told(given)?.text).toMatch(/prepares its volumes/);
  expect(whyGivenUp(given, millis(1), 60_000)).toBeUndefined();
});

test('one whose program runs is not given up, whatever its probe says', () => {
  const given = pod({ containerStatuses: [{ name: 'task', started: false, state: { running: {} } }] });
  expect(whyGivenUp(given, millis(9_999), 1)).toBeUndefined();
});
