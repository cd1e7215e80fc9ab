import { statSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentCluster } from '../support/agent-cluster.js';

let cluster: AgentCluster;
beforeAll(async () => (cluster = await AgentCluster.start()));
afterAll(() => cluster.close());

const program = (value: string, ...words: string[]) => ({ command: { shell: false, value, arguments: words } });

/** Words that a script would take for something else. */
const hostile = [
  'two words',
  `quo'te"s`,
  '$HOME',
  '`id`',
  '$(id)',
  'new\nline',
  '*',
  '; id',
  '\\',
  '',
  '-n',
  '#',
  '&',
  'ü €',
];

describe('plain commands', () => {
  test('run in their sandbox, which gets their output in two files', async () => {
    const spec = await cluster.run('pwd; echo to stderr >&2');
    expect(cluster.output(spec)).toBe(`${cluster.sandbox(spec)}\n`);
    expect(cluster.output(spec, 'stderr')).toBe('to stderr\n');
  });

  test('get every word as it was given', async () => {
    const spec = await cluster.run('', program('/usr/bin/printf', '[%s]\n', ...hostile));
    expect(cluster.output(spec)).toBe(hostile.map((word) => `[${word}]\n`).join(''));
  });

  test('get the arguments of shell text as its parameters', async () => {
    const spec = await cluster.run('', {
      command: { shell: true, value: 'printf "[%s]\\n" "$@"', arguments: hostile },
    });
    expect(cluster.output(spec)).toBe(hostile.map((word) => `[${word}]\n`).join(''));
  });

  test.each([
    { name: 'a program', spec: program('/usr/bin/env', '-0') },
    { name: 'a line for a shell', spec: { command: { shell: true, value: 'env -0', arguments: [] } } },
  ])('$name gets variables whose names no shell can say, values as they are', async ({ spec: own }) => {
    const environment = { 'spring.profiles-active': hostile.join(' '), 'a-b': '$$ $PATH', PLAIN: 'x' };
    const spec = await cluster.run('', { ...own, environment });
    const lines = cluster.output(spec).split('\0');
    for (const [name, value] of Object.entries(environment)) expect(lines).toContain(`${name}=${value}`);
  });

  test('get their environment as it was given, and what the agent adds', async () => {
    const environment = {
      TASK_ID: 't',
      ODD: hostile.join(' '),
      PATH: '/nowhere',
      IFS: 'x',
      CLUSTER_SANDBOX: '/forged',
    };
    const spec = await cluster.run('', { ...program('/usr/bin/env', '-0'), environment });
    const seen = Object.fromEntries(
      cluster
        .output(spec)
        .split('\0')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    expect(seen).toMatchObject({ TASK_ID: 't', ODD: environment.ODD, PATH: '/nowhere' });
    expect(seen).toMatchObject({ CLUSTER_TASK_ID: spec.taskId, CLUSTER_SANDBOX: cluster.sandbox(spec) });
    expect(seen['HOME']).toBeTruthy();
  });

  test('find programs without a PATH of their own, this Node among them', async () => {
    const spec = await cluster.run('', program('node', '-e', 'console.log(process.execPath)'));
    expect(cluster.output(spec)).toBe(`${process.execPath}\n`);
  });

  test('read nothing from stdin', async () => {
    const spec = await cluster.run('cat; echo done');
    expect(cluster.output(spec)).toBe('done\n');
  });

  test('append, so that a log can be cut off under them', async () => {
    const spec = await cluster.launch('echo before; : >cut; while [ -e cut ]; do sleep 0.01; done; echo after');
    await cluster.untilState(spec, 'TASK_RUNNING');
    await cluster.fileOf(spec, 'stdout');
    const { truncateSync, rmSync } = await import('node:fs');
    truncateSync(cluster.sandbox(spec, 'stdout'), 0);
    rmSync(cluster.sandbox(spec, 'cut'));
    await cluster.untilState(spec, 'TASK_FINISHED');
    expect(readFileSync(cluster.sandbox(spec, 'stdout'))).toEqual(Buffer.from('after\n'));
    expect(statSync(cluster.sandbox(spec, 'stdout')).size).toBe(6);
  });

  test.each(['INT', 'QUIT', 'TERM', 'HUP', 'PIPE'])('are ended by SIG%s as programs are by default', async (name) => {
    const spec = await cluster.run(`kill -${name} $$; echo survived`);
    expect(cluster.output(spec)).toBe('');
    expect(cluster.seen.statesOf(spec.taskId)).toContain('TASK_FAILED');
  });

  test('say in stderr that there is no such program', async () => {
    const spec = await cluster.launch('', program('no-such-program'));
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Exit code 127');
    expect(cluster.output(spec, 'stderr')).toContain('no-such-program');
  });

  test('that are longer than the kernel takes fail, and say so', async () => {
    const spec = await cluster.launch('', program('/bin/echo', 'x'.repeat(200_000)));
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Command line and environment are too long');
  });

  test('report their program, pid and exit code', async () => {
    const spec = await cluster.launch('', program('/bin/sh', '-c', 'exit 7'));
    expect(await cluster.untilState(spec, 'TASK_STARTING')).toBe(`Staging files, executor pid ${process.pid}`);
    expect(await cluster.untilState(spec, 'TASK_RUNNING')).toMatch(/^Running sh \(pid \d+\)$/);
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Exit code 7');
  });

  test('have ids with characters that file names do not like', async () => {
    const spec = await cluster.run('echo here', { taskId: 'r:e:q-dep-1-1-ho st%-ü' });
    expect((await (await cluster.driver.sandbox(spec.taskId, 's1'))?.read('stdout', 0, 10))?.data.toString()).toBe(
      'here\n',
    );
  });
});

test.each([
  { value: 'echo hi && exit 3', says: 'Exit code 127: not a program; a shell line with arguments needs shell: true' },
  { value: 'no-such-program', says: 'Exit code 127' },
])('that is not found ends with a word on why: $value', async ({ value, says }) => {
  const spec = await cluster.run('', { command: { shell: false, value, arguments: ['x'] } });
  expect(cluster.seen.messagesOf(spec.taskId).at(-1)).toBe(says);
});

describe('what cannot be launched is refused', () => {
  test.each([
    { why: 'an unknown slave', changes: { slaveId: 's9' }, reason: "no slave 's9' here" },
    { why: 'an unknown user', changes: { user: 'nobody-of-that-name' }, reason: "no user 'nobody-of-that-name'" },
    { why: 'a variable of no name', changes: { environment: { 'a b': 'x' } }, reason: 'environment.a b' },
    { why: 'an id that leaves its folder', changes: { taskId: '../../x' }, reason: "taskId must not contain '/'" },
    {
      why: 'an object without a name for its file',
      changes: { executorData: { cmd: 'x', objstoreArtifacts: [{}] } },
      reason: 'objstoreArtifacts',
    },
    {
      why: 'a scheme that cannot be fetched',
      changes: { artifacts: [{ uri: 's3://b/k' }] },
      reason: 'artifacts[0].uri',
    },
    { why: 'half a document', changes: { ports: undefined as never }, reason: 'ports' },
  ])('$why', async ({ changes, reason }) => {
    const spec = cluster.spec(changes);
    expect(await cluster.driver.launch([spec], 1)).toEqual([
      { taskId: spec.taskId, outcome: 'REFUSED', reason: expect.stringContaining(reason) },
    ]);
    expect(cluster.seen.statesOf(spec.taskId)).toEqual([]);
  });

  test('a port that two launches of one batch want goes to one of them', async () => {
    const batch = [1, 2, 3].map(() => cluster.spec({ ports: [45_672] }));
    const answers = await cluster.driver.launch(batch, 1);
    expect(answers.map((answer) => answer.outcome).toSorted()).toEqual(['ACCEPTED', 'PORT_IN_USE', 'PORT_IN_USE']);
    for (const spec of batch) await cluster.driver.kill(spec.taskId, 's1', 0, 1);
  });

  test('a port that another task was given, although it does not listen yet', async () => {
    const first = await cluster.launch('sleep 600', { ports: [45_671] });
    const second = cluster.spec({ ports: [45_670, 45_671] });
    expect(await cluster.driver.launch([second], 1)).toMatchObject([{ outcome: 'PORT_IN_USE', port: 45_671 }]);
    await cluster.driver.kill(first.taskId, 's1', 0, 1);
    await cluster.untilState(first, 'TASK_KILLED');
  });
});
