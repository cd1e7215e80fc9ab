import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedSecret } from '../../src/agent/state/agent-directory.js';
import { SandboxModule } from '../../src/modules/sandbox/sandbox.module.js';
import { TasksModule } from '../../src/modules/tasks/tasks.module.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { insertTask, start } from '../support/builders.js';
import { RawCaller } from '../support/raw-http.js';
import { startRooms, type RoomApp } from '../support/room-app.js';
import { waitFor } from '../support/wait-for.js';

/** The files of a real task of a real agent, read over the API. */
let cluster: AgentCluster;
let rooms: RoomApp;
let api: RawCaller;
let secret: string;
let id: string;
let root: string;
const injected = 'a\r\nX-Injected: yes';

beforeAll(async () => {
  cluster = await AgentCluster.start();
  rooms = await startRooms({ modules: [SandboxModule, TasksModule], driver: cluster.driver });
  api = new RawCaller(rooms.url);
  secret = await sharedSecret(cluster.root);
  ({ id } = await insertTask(rooms.database.pool, { directory: 'known', updates: [['TASK_RUNNING', start]] }));
  // The task makes its files itself: what another user owns is not shown.
  const odd = `mkdir folder; for name in 'a"; filename="b.html' "$(printf 'a\\r\\nX-Injected: yes')"; do printf inside >"folder/$name"; done`;
  const spec = await cluster.launch(`${odd}; echo inside; exec sleep 600`, { taskId: id });
  root = cluster.sandbox(spec);
  await waitFor('the files', () => readFileSync(join(root, 'stdout'), 'utf8') === 'inside\n');
  for (const [name, target] of Object.entries({
    passwd: '/etc/passwd',
    secret: join(cluster.root, 'secret'),
    up: '..',
    'out-of-it': '../../secret',
    proc: '/proc/self/environ',
    cwd: '/proc/self/cwd/package.json',
    zero: '/dev/zero',
    stdin: '/dev/stdin',
    loop: 'loop',
    agent: cluster.root,
  }))
    symlinkSync(target, join(root, name));
  execFileSync('mkfifo', [join(root, 'pipe')]);
});
afterAll(async () => {
  api.close();
  await rooms.close();
  await cluster.close();
});

const twice = (text: string): string => encodeURIComponent(encodeURIComponent(text));
const tells = (text: string): boolean => text.includes(secret) || /root:.*:0:0:|"name": "muster/.test(text);

describe('a path in a sandbox leads to nothing outside:', () => {
  /** As they stand in the query. */
  const outside = [
    ...['..', '../..', '../../secret', 'folder/../../../secret', './../../secret', '/etc/passwd', '//etc/passwd'].map(
      encodeURIComponent,
    ),
    ...['..\\..\\secret', '..;/..;/secret', '....//....//secret', 'file:///etc/passwd', '~/.ssh', '$HOME'].map(
      encodeURIComponent,
    ),
    ...['../../secret', '/etc/passwd', '..%2f..%2fsecret'].map(twice),
    'passwd',
    'secret',
    'up',
    'up/secret',
    'up/../secret',
    'out-of-it',
    'proc',
    'cwd',
    'zero',
    'stdin',
    'loop',
    'pipe',
    'agent',
    'agent/secret',
    'agent/tasks',
    'folder/../agent/secret',
    '.',
    '',
    '%00',
    'stdout%00',
    'folder/../../secret%00stdout',
    '%2e%2e/%2e%2e/secret',
    '%252e%252e/secret',
    '%c0%ae%c0%ae/secret',
    '%ff',
    '..%5c..%5csecret',
    'x'.repeat(5_000),
    'd/'.repeat(2_000),
    '/proc/self/environ',
    '/dev/zero',
  ];

  test.each(outside)('%s', async (path) => {
    const file = `&slaveHostname=host-1&path=${encodeURIComponent(`${root}/`)}`;
    for (const target of [
      `/api/sandbox/${id}/read?offset=0&length=1000&path=${path}`,
      `/api/sandbox/${id}/browse?path=${path}`,
      `/api/tasks/download?slaveHostname=host-1&path=${path}`,
      `/api/tasks/open?slaveHostname=host-1&path=${path}`,
      `/api/tasks/download?x=${file}${path}`,
      `/api/tasks/open?x=${file}${path}`,
    ]) {
      const { status, body } = await api.call(target);
      expect(status, target).toBeLessThan(500);
      expect(tells(body), target).toBe(false);
      // The sandbox itself may be listed, by other ways to write it.
      if (status === 200) expect(JSON.parse(body), target).toMatchObject({ fullPathToRoot: root });
    }
  });

  test.each(['..', '.', '../agent', '%2e%2e', '%252e%252e', '..%2f..', '%00', 'web-d1-1-1-host-rack%2f..%2f..'])(
    'nor does the task %s',
    async (task) => {
      for (const call of [`/api/sandbox/${task}/read?path=secret&offset=0`, `/api/sandbox/${task}/browse`]) {
        const { status, body } = await api.call(call);
        expect([400, 404], call).toContain(status);
        expect(tells(body)).toBe(false);
      }
      const doubled = encodeURIComponent(`${root.replace(id, task)}/secret`);
      const { status } = await api.call(`/api/tasks/download?slaveHostname=host-1&path=${doubled}`);
      expect([400, 404]).toContain(status);
    },
  );

  test('and a task id that is encoded twice is that of no other task', async () => {
    const path = encodeURIComponent(
      root.replace(id, encodeURIComponent(encodeURIComponent(id.replaceAll('-', '%2d')))),
    );
    expect((await api.call(`/api/tasks/download?slaveHostname=host-1&path=${path}%2fstdout`)).status).toBe(404);
  });

  test('the name of a file gets into no header', async () => {
    for (const name of [injected, 'a"; filename="b.html']) {
      const path = encodeURIComponent(`${root}/folder/${name}`);
      for (const kind of ['download', 'open']) {
        const { status, headers, body } = await api.call(`/api/tasks/${kind}?slaveHostname=host-1&path=${path}`);
        expect([status, body]).toEqual([200, 'inside']);
        expect(headers['x-injected']).toBeUndefined();
        expect(headers['content-disposition'] ?? '').not.toMatch(/[\r\n]|filename="b\.html"/);
      }
    }
  });
});

test.each(['../evil', '..', 'a/../../evil', '/tmp/muster-evil', './../evil', 'a/..', '.', 'a\u0000b'])(
  'a file of a deploy named %j is put nowhere outside',
  async (name) => {
    const content = Buffer.from('evil').toString('base64');
    const spec = cluster.spec({
      command: { shell: true, value: 'true', arguments: [] },
      executorData: {
        cmd: 'true',
        embeddedArtifacts: [{ name, filename: name, content: [content] }] as never,
      },
    });
    const [answer] = await cluster.driver.launch([spec], 1);
    if (answer?.outcome === 'ACCEPTED') {
      const end = /^TASK_(FINISHED|FAILED|LOST|ERROR|KILLED)$/;
      await waitFor('the end', () => cluster.seen.statesOf(spec.taskId).some((state) => end.test(state)));
    }
    for (const place of [
      join(cluster.sandbox(spec), '..', 'evil'),
      join(cluster.sandbox(spec), '..', '..', 'evil'),
      '/tmp/muster-evil',
    ]) {
      expect(existsSync(place), place).toBe(false);
    }
  },
);
