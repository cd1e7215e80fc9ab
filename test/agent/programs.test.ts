import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { LaunchSpec, ProgramsOfLaunch } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { agentProgram } from '../support/agent-programs.js';
import { waitFor } from '../support/wait-for.js';

const line = (value: string) => ({ shell: true, value, arguments: [] });
const step = (name: string, value: string, timeoutMillis = 60_000) => ({
  name,
  command: line(value),
  environment: {},
  timeoutMillis,
});
const sidecar = (name: string, value: string) => ({
  name,
  command: line(value),
  environment: {},
  cpus: 0,
  memoryMb: 0,
});
const around = (programs: Partial<ProgramsOfLaunch>): Pick<LaunchSpec, 'programs'> => ({
  programs: { init: [], sidecars: [], post: [], ...programs },
});

/** Adds a word to the file in which all programs of a task tell what they do. */
const tell = (word: string) => `echo ${word} >>order`;
/** Runs until it is told to end, and tells that. */
const untilTold = (name: string) =>
  `trap '${tell(`${name}-ends`)}; exit 0' TERM; ${tell(name)}; while :; do sleep 0.02; done`;
/** Waits for a file that a test makes. */
const untilOpen = (name: string) => `until test -e ${name}-open; do sleep 0.02; done`;

const order = (of: AgentCluster, spec: LaunchSpec): string[] =>
  existsSync(of.sandbox(spec, 'order')) ? readFileSync(of.sandbox(spec, 'order'), 'utf8').trim().split('\n') : [];
const untilOrder = (of: AgentCluster, spec: LaunchSpec, word: string) =>
  waitFor(`${word} of ${order(of, spec).join()}`, () => order(of, spec).includes(word), {
    timeoutMillis: 25_000,
    everyMillis: 5,
  });
const open = (of: AgentCluster, spec: LaunchSpec, name: string) =>
  writeFileSync(of.sandbox(spec, `${name}-open`), '', { mode: 0o666 });
const kill = (of: AgentCluster, spec: LaunchSpec, graceMillis: number) =>
  of.driver.kill(spec.taskId, 's1', graceMillis, 1);
const programsOf = (of: AgentCluster, spec: LaunchSpec) => of.seen.programsOf(spec.taskId);

describe('programs around the main one', () => {
  let cluster: AgentCluster;
  beforeAll(async () => (cluster = await AgentCluster.start()));
  afterAll(() => cluster.close());

  test('run in their order, in one sandbox, and write to files of their own', async () => {
    const spec = await cluster.run(`until grep -q beside order; do sleep 0.02; done; ${tell('main')}; echo of main`, {
      environment: { SHARED: 'shared', OWN: 'theirs' },
      ...around({
        init: [
          { ...step('first', `${tell('first')}; echo $SHARED $OWN; echo no >&2`), environment: { OWN: 'own' } },
          step('second', tell('second')),
        ],
        sidecars: [sidecar('beside', untilTold('beside'))],
        post: [step('last', `${tell('last')}; echo bye`), step('very-last', tell('very-last'))],
      }),
    });
    expect(order(cluster, spec)).toEqual(['first', 'second', 'beside', 'main', 'beside-ends', 'last', 'very-last']);
    expect(cluster.output(spec)).toBe('of main\n');
    expect(cluster.output(spec, 'first.stdout')).toBe('shared own\n');
    expect(cluster.output(spec, 'first.stderr')).toBe('no\n');
    expect(cluster.output(spec, 'last.stdout')).toBe('bye\n');
    expect(cluster.seen.statesOf(spec.taskId)).toEqual([
      'TASK_STARTING',
      'TASK_RUNNING',
      'TASK_KILLING',
      'TASK_FINISHED',
    ]);
    expect(programsOf(cluster, spec)).toEqual([
      'first RUNNING 1',
      'first SUCCEEDED 1',
      'second RUNNING 1',
      'second SUCCEEDED 1',
      'beside RUNNING 1',
      'beside SUCCEEDED 1',
      'last RUNNING 1',
      'last SUCCEEDED 1',
      'very-last RUNNING 1',
      'very-last SUCCEEDED 1',
    ]);
  });

  test('an init step that fails is the end of the task, and nothing runs after it', async () => {
    const spec = await cluster.run(tell('main'), {
      ...around({
        init: [step('migrate', `${tell('migrate')}; exit 3`), step('next', tell('next'))],
        sidecars: [sidecar('beside', untilTold('beside'))],
        post: [step('last', tell('last'))],
      }),
    });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Init step migrate ended with exit code 3');
    expect(order(cluster, spec)).toEqual(['migrate']);
    expect(cluster.seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_FAILED']);
    expect(programsOf(cluster, spec)).toEqual(['migrate RUNNING 1', 'migrate FAILED 1']);
  });

  test('a step that takes too long is killed with all that it has started', async () => {
    const spec = await cluster.run(tell('main'), {
      ...around({ init: [step('slow', 'setsid sleep 611 & sleep 612', 300)] }),
    });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Init step slow took longer than 300 ms');
    expect(cluster.processes()).toEqual([]);
  });

  test('an init step that cannot be started fails the task', async () => {
    const spec = await cluster.run(tell('main'), {
      ...around({
        init: [{ ...step('none', ''), command: { shell: false, value: '/no/such/program', arguments: ['x'] } }],
      }),
    });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Init step none ended with exit code 127');
  });

  test('a kill during an init step ends it, and the main program and post steps do not run', async () => {
    const spec = await cluster.launch(tell('main'), {
      ...around({ init: [step('long', untilTold('long'))], post: [step('last', tell('last'))] }),
    });
    await untilOrder(cluster, spec, 'long');
    await kill(cluster, spec, 60_000);
    expect(await cluster.untilState(spec, 'TASK_KILLED')).toBe('Killed before start');
    expect(order(cluster, spec)).toEqual(['long', 'long-ends']);
    expect(programsOf(cluster, spec).at(-1)).toBe('long FAILED 1');
  });

  test('a kill ends the main program first, then the sidecars, and post steps follow', async () => {
    const spec = await cluster.launch(untilTold('main'), {
      ...around({ sidecars: [sidecar('beside', untilTold('beside'))], post: [step('last', tell('last'))] }),
    });
    await cluster.untilState(spec, 'TASK_RUNNING');
    for (const word of ['beside', 'main']) await untilOrder(cluster, spec, word);
    await kill(cluster, spec, 60_000);
    expect(await cluster.untilState(spec, 'TASK_KILLED')).toMatch(/^Killed gracefully, exit code 0/);
    expect(order(cluster, spec).slice(2)).toEqual(['main-ends', 'beside-ends', 'last']);
  });

  test('sidecars get their signal also when the main program took all of the time of the kill', async () => {
    const spec = await cluster.launch(`trap '' TERM; ${tell('main')}; while :; do sleep 0.02; done`, {
      ...around({ sidecars: [sidecar('beside', untilTold('beside'))] }),
    });
    await cluster.untilState(spec, 'TASK_RUNNING');
    for (const word of ['beside', 'main']) await untilOrder(cluster, spec, word);
    await kill(cluster, spec, 200);
    expect(await cluster.untilState(spec, 'TASK_KILLED')).toMatch(/^Killed by force/);
    expect(order(cluster, spec).at(-1)).toBe('beside-ends');
  });

  test('a kill by force ends everything at once, and no post step runs', async () => {
    const spec = await cluster.launch(untilTold('main'), {
      ...around({ sidecars: [sidecar('beside', untilTold('beside'))], post: [step('last', tell('last'))] }),
    });
    for (const word of ['beside', 'main']) await untilOrder(cluster, spec, word);
    await kill(cluster, spec, 0);
    await cluster.untilState(spec, 'TASK_KILLED');
    expect(order(cluster, spec).toSorted()).toEqual(['beside', 'main']);
    expect(cluster.processes()).toEqual([]);
  });

  test('a kill by force ends a post step that runs, and those after it do not begin', async () => {
    const spec = await cluster.launch(tell('main'), {
      ...around({ post: [step('long', untilTold('long')), step('last', tell('last'))] }),
    });
    await untilOrder(cluster, spec, 'long');
    await kill(cluster, spec, 60_000);
    expect(cluster.seen.statesOf(spec.taskId).at(-1)).toBe('TASK_KILLING');
    await kill(cluster, spec, 0);
    await cluster.untilEnd(spec);
    expect(cluster.seen.statesOf(spec.taskId).at(-1)).toBe('TASK_FINISHED');
    expect(order(cluster, spec)).toEqual(['main', 'long']);
  });

  test('a sidecar that ends is started again, until the main program has ended', async () => {
    const spec = await cluster.launch(untilOpen('main'), {
      ...around({ sidecars: [sidecar('short', `${tell('short')}; exit 5`)] }),
    });
    await waitFor('its third start', () => programsOf(cluster, spec).includes('short RUNNING 3'), {
      timeoutMillis: 25_000,
    });
    expect(readdirSync(cluster.control(spec, 'programs/short'))).toEqual(['3']);
    open(cluster, spec, 'main');
    await cluster.untilState(spec, 'TASK_FINISHED');
    const starts = order(cluster, spec).length;
    expect(programsOf(cluster, spec).slice(0, 4)).toEqual([
      'short RUNNING 1',
      'short FAILED 1',
      'short RUNNING 2',
      'short FAILED 2',
    ]);
    expect(starts).toBe(programsOf(cluster, spec).filter((text) => text.includes('RUNNING')).length);
    const [, failed] = cluster.seen.updates.filter(({ taskId, program }) => taskId === spec.taskId && program);
    expect(failed?.program).toMatchObject({ exitCode: 5, message: 'Ended with exit code 5; started again in 1 s' });
  });

  test('post steps run whatever became of the main program and of each other, and their failures are told with its end', async () => {
    const spec = await cluster.run('exit 7', {
      ...around({ post: [step('one', 'exit 4'), step('two', tell('two')), step('three', 'kill -9 $$')] }),
    });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe(
      'Exit code 7; post step one ended with exit code 4, and 1 more',
    );
    expect(order(cluster, spec)).toEqual(['two']);
    const end = cluster.seen.updates.find(({ taskId, state }) => taskId === spec.taskId && state === 'TASK_FAILED');
    expect(end?.exitCode).toBe(7);
  });

  test('share the user and the limits of the task', async () => {
    const spec = await cluster.run('id -u; cat /proc/self/cgroup', {
      ...around({ init: [step('first', 'id -u; cat /proc/self/cgroup')] }),
    });
    expect(cluster.output(spec, 'first.stdout')).toBe(cluster.output(spec));
  });

  test('are not there for a task with executorData', async () => {
    const spec = cluster.spec({ ...around({ init: [step('a', 'true')] }), executorData: { cmd: 'true' } });
    expect(await cluster.driver.launch([spec], 1)).toMatchObject([
      { outcome: 'REFUSED', reason: 'programs must not be given with executorData or a container' },
    ]);
  });
});

/** The agent is killed at a point that is reached for certain; another one goes on from there, and nothing runs twice. */
interface Phase {
  name: string;
  main: string;
  programs: Partial<ProgramsOfLaunch>;
  /** The word that says that the phase is reached. */
  reached: string;
  /** Programs that are let go on, while there is no agent, and when there is another one. */
  meanwhile?: string;
  lets?: string[];
  killed?: boolean;
  end: string;
  says: string;
  order: string[];
}

const gated = (name: string, exitCode = 0) => `${tell(name)}; ${untilOpen(name)}; exit ${exitCode}`;

const phases: Phase[] = [
  {
    name: 'in the first of two init steps, which goes on',
    main: tell('main'),
    programs: { init: [step('one', gated('one')), step('two', tell('two'))], post: [step('last', tell('last'))] },
    reached: 'one',
    lets: ['one'],
    end: 'TASK_FINISHED',
    says: 'Exit code 0',
    order: ['one', 'two', 'main', 'last'],
  },
  {
    name: 'in an init step that ends while there is no agent',
    main: tell('main'),
    programs: { init: [step('zero', tell('zero')), step('one', gated('one')), step('two', tell('two'))] },
    reached: 'one',
    meanwhile: 'one',
    end: 'TASK_FINISHED',
    says: 'Exit code 0',
    order: ['zero', 'one', 'two', 'main'],
  },
  {
    name: 'in an init step that fails while there is no agent',
    main: tell('main'),
    programs: { init: [step('one', gated('one', 3)), step('two', tell('two'))], post: [step('last', tell('last'))] },
    reached: 'one',
    meanwhile: 'one',
    end: 'TASK_FAILED',
    says: 'Init step one ended with exit code 3',
    order: ['one'],
  },
  {
    name: 'in the main program, with a sidecar that goes on',
    main: gated('main'),
    programs: { sidecars: [sidecar('beside', untilTold('beside'))], post: [step('last', tell('last'))] },
    reached: 'main',
    lets: ['main'],
    end: 'TASK_FINISHED',
    says: 'Exit code 0',
    order: ['beside', 'main', 'beside-ends', 'last'],
  },
  {
    name: 'in the main program, which ends while there is no agent',
    main: gated('main', 9),
    programs: {
      init: [step('one', tell('one'))],
      sidecars: [sidecar('beside', untilTold('beside'))],
      post: [step('last', tell('last'))],
    },
    reached: 'main',
    meanwhile: 'main',
    end: 'TASK_FAILED',
    says: 'Exit code 9',
    order: ['one', 'beside', 'main', 'beside-ends', 'last'],
  },
  {
    name: 'in the first of two post steps, which goes on',
    main: tell('main'),
    programs: { post: [step('one', gated('one', 2)), step('two', tell('two'))] },
    reached: 'one',
    lets: ['one'],
    end: 'TASK_FINISHED',
    says: 'Exit code 0; post step one ended with exit code 2',
    order: ['main', 'one', 'two'],
  },
  {
    name: 'in a post step that ends while there is no agent',
    main: tell('main'),
    programs: { post: [step('one', gated('one')), step('two', tell('two'))] },
    reached: 'one',
    meanwhile: 'one',
    end: 'TASK_FINISHED',
    says: 'Exit code 0',
    order: ['main', 'one', 'two'],
  },
  {
    name: 'in a post step after a kill',
    main: untilTold('main'),
    programs: { sidecars: [sidecar('beside', untilTold('beside'))], post: [step('one', gated('one'))] },
    reached: 'one',
    killed: true,
    lets: ['one'],
    end: 'TASK_KILLED',
    says: 'Killed gracefully, exit code 0',
    order: ['beside', 'main', 'main-ends', 'beside-ends', 'one'],
  },
];

describe('an agent that is killed', () => {
  test.each(phases)('$name', async (phase) => {
    const cluster = await AgentCluster.start({ program: agentProgram });
    onTestFinished(() => cluster.close());
    const { beside, main } = { beside: 'beside', main: phase.main };
    const waits = phase.programs.sidecars?.length ? `until grep -q ${beside} order; do sleep 0.02; done; ` : '';
    const spec = await cluster.launch(`${waits}${main}`, around(phase.programs));
    if (phase.killed) {
      await untilOrder(cluster, spec, 'main');
      await kill(cluster, spec, 60_000);
    }
    await untilOrder(cluster, spec, phase.reached);
    await cluster.killAgent();
    if (phase.meanwhile !== undefined) {
      open(cluster, spec, phase.meanwhile);
      await waitFor(
        'its end',
        () =>
          !cluster
            .processes()
            .some(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${phase.meanwhile}-open`)),
      );
    }
    await cluster.startAgent();
    for (const name of phase.lets ?? []) open(cluster, spec, name);
    await cluster.untilEnd(spec);
    expect(await cluster.untilState(spec, phase.end)).toMatch(new RegExp(`^${phase.says}`));
    expect(order(cluster, spec)).toEqual(phase.order);
    expect(cluster.processes()).toEqual([]);
  });

  test('in an init step that does not end when it is told to: the next one kills it', async () => {
    const cluster = await AgentCluster.start({ program: agentProgram });
    onTestFinished(() => cluster.close());
    const stubborn = `trap '' TERM; ${tell('stubborn')}; while :; do sleep 0.02; done`;
    const spec = await cluster.launch(tell('main'), around({ init: [step('stubborn', stubborn)] }));
    await untilOrder(cluster, spec, 'stubborn');
    await kill(cluster, spec, 2_000);
    await cluster.killAgent();
    await cluster.startAgent();
    await cluster.untilState(spec, 'TASK_KILLED');
    expect(order(cluster, spec)).toEqual(['stubborn']);
    expect(cluster.processes()).toEqual([]);
  });

  test('while the sidecar waits to be started again: it is, once', async () => {
    const cluster = await AgentCluster.start({ program: agentProgram });
    onTestFinished(() => cluster.close());
    const spec = await cluster.launch(
      gated('main'),
      around({ sidecars: [sidecar('short', `${tell('short')}; exit 1`)] }),
    );
    await waitFor('its end', () => programsOf(cluster, spec).includes('short FAILED 1'));
    await cluster.killAgent();
    await cluster.startAgent();
    await waitFor('its second start', () => programsOf(cluster, spec).includes('short RUNNING 2'), {
      timeoutMillis: 25_000,
    });
    open(cluster, spec, 'main');
    await cluster.untilState(spec, 'TASK_FINISHED');
    const starts = programsOf(cluster, spec).filter((text) => text.includes('RUNNING'));
    expect(order(cluster, spec).filter((word) => word === 'short')).toHaveLength(new Set(starts).size);
  });
});
