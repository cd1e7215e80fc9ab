import { once } from 'node:events';
import {
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientTls, keysOf } from '../../src/pod-agent/keys.js';
import { PodNode, specOf, testUid } from '../support/pod-node.js';

const isRoot = process.getuid?.() === 0;
const patience = { timeout: 20_000 };

function writeAsTask(path: string, text: string): void {
  writeFileSync(path, text);
  chownSync(path, testUid, testUid);
}

describe.skipIf(!isRoot)('the agent of a node', () => {
  let node: PodNode;
  beforeAll(async () => {
    node = await PodNode.start();
  });
  afterAll(() => node?.close());
  const statusOf = (call: Promise<unknown>) =>
    call.then(
      () => 'answered',
      (cause: { status?: number }) => cause.status ?? 'no connection',
    );
  const sandboxOf = (taskId: string) => node.api.task({ taskId }).sandbox();

  describe('prepares a sandbox', () => {
    test('that belongs to the user of the task, in a folder that leads no other user there', async () => {
      const { path, podName } = await node.prepare();
      const { uid, gid, mode } = statSync(path);
      expect([uid, gid, mode & 0o7777]).toEqual([testUid, testUid, 0o750]);
      for (const closed of [join(node.root, '.agent'), join(node.root, podName), join(node.root, podName, 'logs')])
        expect([statSync(closed).uid, statSync(closed).mode & 0o7777]).toEqual([0, 0o700]);
      expect(statSync(node.root).mode & 0o7777).toBe(0o711);
    });

    test('that is open where the image says who its user is', async () => {
      const { path } = await node.prepare({ user: undefined });
      expect([statSync(path).uid, statSync(path).mode & 0o7777]).toEqual([0, 0o777]);
    });

    test('once: asked again it answers the same and leaves alone what is there, also after a restart', async () => {
      const pod = await node.prepare();
      symlinkSync('/etc', join(pod.path, 'stdout'));
      writeFileSync(join(pod.path, 'file'), 'mine');
      for (const restart of [false, true]) {
        if (restart) await node.stopAgent();
        if (restart) await node.startAgent();
        expect(await node.leader().prepare({ pod })).toEqual({ outcome: 'PREPARED', path: pod.path });
      }
      expect(readFileSync(join(pod.path, 'file'), 'utf8')).toBe('mine');
    });

    test('at the same time once', async () => {
      const pod = node.newPod();
      const answers = await Promise.all(Array.from({ length: 10 }, () => node.leader().prepare({ pod })));
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    });

    test.each(['../up', 'a/b', '.agent', 'Upper', '', 'a..b', 'a\0b'])('not by the name %j', async (podName) => {
      expect(await statusOf(node.leader().prepare({ pod: node.newPod({ podName }) }))).toBe(400);
    });

    test('not for root', async () => {
      const user = { uid: 0, gid: 0 };
      expect(await statusOf(node.leader().prepare({ pod: node.newPod({ user }) }))).toBe(400);
    });

    test('not for two tasks, not for two pods of one, and not when its pod has ended', async () => {
      const pod = await node.prepare();
      const { taskId, podName } = node.newPod();
      const outcomes = async () => [
        (await node.leader().prepare({ pod: { ...pod, taskId } })).outcome,
        (await node.leader().prepare({ pod: { ...pod, podName } })).outcome,
      ];
      expect(await outcomes()).toEqual(['REFUSED', 'REFUSED']);
      await node.leader().ended({ taskIds: [pod.taskId, 'unknown'] });
      expect(await node.leader().prepare({ pod })).toMatchObject({ outcome: 'REFUSED' });
    });

    test('over what was left of one that was never told', async () => {
      const pod = node.newPod();
      mkdirSync(join(node.root, pod.podName, 'sandbox'), { recursive: true });
      await node.stopAgent();
      await node.startAgent();
      expect(await node.leader().prepare({ pod })).toMatchObject({ outcome: 'PREPARED' });
    });
  });

  describe('serves files', () => {
    test('of the sandbox, with what the task printed over them', async () => {
      const pod = await node.prepare();
      writeFileSync(join(pod.path, 'stdout'), 'not what it printed');
      mkdirSync(join(pod.path, 'folder'));
      writeAsTask(join(pod.path, 'folder/stdout'), 'of the task');
      const uid = '00000000-0000-4000-8000-000000000001';
      node.print(pod, uid, 'out');
      node.print(pod, uid, 'err', 'stderr');
      const names = async () => (await sandboxOf(pod.taskId).list({ path: '' })).map(({ name }) => name);
      await expect.poll(() => node.read(pod, 'stdout'), patience).toBe('out\n');
      expect(await names()).toEqual(['folder', 'stderr', 'stdout']);
      expect(await node.read(pod, 'stderr')).toBe('err\n');
      expect(await node.read(pod, './/stdout')).toBe('out\n');
      expect(await node.read(pod, 'folder/stdout')).toBe('of the task');
      expect(await sandboxOf(pod.taskId).root()).toEqual({ root: pod.path });
      expect(await statusOf(sandboxOf(pod.taskId).list({ path: 'stdout' }))).toBe(404);
    });

    test('as they are at the moment of the call', async () => {
      const pod = await node.prepare();
      const uid = '00000000-0000-4000-8000-000000000002';
      node.print(pod, uid, 'first');
      await expect.poll(() => node.read(pod, 'stdout'), patience).toBe('first\n');
      for (let line = 0; line < 20; line++) {
        node.print(pod, uid, `line ${line}`);
        expect(await node.read(pod, 'stdout')).toMatch(new RegExp(`line ${line}\n$`));
      }
    });

    test('and nothing that a task leads to from there', async () => {
      const pod = await node.prepare();
      const other = await node.prepare();
      writeAsTask(join(other.path, 'secret'), 'of another');
      const links: Record<string, string> = {
        passwd: '/etc/passwd',
        up: '../spec.json',
        logs: '../logs',
        other: join('../..', other.podName, 'sandbox/secret'),
        process: '/proc/self/root/etc/passwd',
        stderr: '/etc/passwd',
        'stdout.1': '../spec.json',
      };
      for (const [name, target] of Object.entries(links)) symlinkSync(target, join(pod.path, name));
      linkSync(join(node.root, '.agent/incarnation'), join(node.root, pod.podName, 'sandbox', 'hard'));
      const paths = [
        ...Object.keys(links),
        'hard',
        '../spec.json',
        '../logs/stdout',
        'a/../../spec.json',
        '/etc/passwd',
      ];
      const answers = await Promise.all(paths.map((path) => statusOf(node.read(pod, path))));
      const expected = paths.map((path) => (path === 'stderr' ? 'answered' : 404));
      expect(answers).toEqual(expected);
      expect(await node.read(pod, 'stderr')).toBe('');
      const uid = '00000000-0000-4000-8000-000000000003';
      node.print(pod, uid, 'printed', 'stderr');
      await expect.poll(() => node.read(pod, 'stderr'), patience).toBe('printed\n');
      expect(readFileSync('/etc/passwd', 'utf8')).not.toContain('printed');
    });

    test('of no task that it does not know', async () => {
      for (const taskId of ['', '..', '.agent', 'unknown']) expect(await statusOf(sandboxOf(taskId).root())).toBe(404);
    });

    test('of a task that has ended, whose sandbox is closed then', async () => {
      const pod = await node.prepare();
      writeAsTask(join(pod.path, 'result'), '42');
      const uid = '00000000-0000-4000-8000-000000000004';
      node.print(pod, uid, 'last words');
      await expect.poll(() => node.read(pod, 'stdout'), patience).toBe('last words\n');
      node.print(pod, uid, 'very last');
      await node.leader().ended({ taskIds: [pod.taskId] });
      rmSync(join(node.podLogs, `${pod.namespace}_${pod.podName}_${uid}`), { recursive: true });
      expect(await node.read(pod, 'stdout')).toBe('last words\nvery last\n');
      expect(await node.read(pod, 'result')).toBe('42');
      expect([statSync(pod.path).uid, statSync(pod.path).mode & 0o7777]).toEqual([0, 0o700]);
    });
  });

  test('takes the output of pods that end before they are seen', async () => {
    const pods = await Promise.all(Array.from({ length: 5 }, () => node.prepare()));
    for (const [index, pod] of pods.entries()) {
      node.print(pod, `00000000-0000-4000-8000-00000000010${index}`, 'all of it');
      await node.leader().ended({ taskIds: [pod.taskId] });
      expect(await node.read(pod, 'stdout')).toBe('all of it\n');
    }
  });

  describe('notices by itself', () => {
    test('that the pod of a task has gone', async () => {
      const pod = await node.prepare();
      const uid = '00000000-0000-4000-8000-000000000005';
      node.print(pod, uid, 'x');
      await expect.poll(() => specOf(node, pod).uid, patience).toBe(uid);
      rmSync(join(node.podLogs, `${pod.namespace}_${pod.podName}_${uid}`), { recursive: true });
      await expect.poll(() => specOf(node, pod).endedAt, patience).toBeGreaterThan(0);
    });

    test('that files were kept long enough, or were prepared for nothing', async () => {
      const [ended, unused, waiting] = await Promise.all([node.prepare(), node.prepare(), node.prepare()]);
      await node.leader().ended({ taskIds: [ended.taskId] });
      // Its files stay until its logs are in order, which they are long before.
      await expect.poll(() => specOf(node, ended).areLogsFinished, patience).toBe(true);
      const day = 24 * 3600 * 1000;
      const age = (pod: typeof ended, own: object) =>
        writeFileSync(join(node.root, pod.podName, 'spec.json'), JSON.stringify({ ...specOf(node, pod), ...own }));
      await node.stopAgent();
      age(ended, { endedAt: Date.now() - 8 * day });
      age(unused, { preparedAt: Date.now() - 2 * day });
      age(waiting, { preparedAt: Date.now() - day / 2 });
      await node.startAgent();
      await expect.poll(() => statusOf(sandboxOf(ended.taskId).root()), patience).toBe(404);
      await expect.poll(() => statusOf(sandboxOf(unused.taskId).root()), patience).toBe(404);
      expect(await statusOf(sandboxOf(waiting.taskId).root())).toBe('answered');
      const { agent } = await node.api.usage();
      const removed = agent!.removed.filter(({ count }) => count > 0).map(({ reason }) => reason);
      expect(removed.toSorted()).toEqual(['SANDBOX_AGE', 'SANDBOX_WITHOUT_TASK']);
    });
  });

  test('removes the app folder of a task with executorData a day after its end, unless it is to be preserved', async () => {
    const pods = await Promise.all(
      [false, true].map((preserveTaskSandboxAfterFinish) =>
        node.prepare({ executor: { preserveTaskSandboxAfterFinish } }),
      ),
    );
    const young = await node.prepare({ executor: {} });
    const all = [...pods, young];
    for (const { path } of all) writeAsTask(join(path, 'app/file'), 'x');
    await node.leader().ended({ taskIds: all.map(({ taskId }) => taskId) });
    await node.stopAgent();
    for (const pod of pods)
      writeFileSync(
        join(node.root, pod.podName, 'spec.json'),
        JSON.stringify({ ...specOf(node, pod), endedAt: Date.now() - 25 * 3600 * 1000 }),
      );
    await node.startAgent();
    const namesIn = ({ path }: { path: string }) => readdirSync(path).toSorted();
    await expect.poll(() => namesIn(pods[0]!), patience).toEqual(['logs', 'tmp']);
    const { agent } = await node.api.usage();
    expect(agent!.removed.find(({ reason }) => reason === 'APP_FOLDER')).toMatchObject({ count: 1 });
    for (const pod of [pods[1]!, young]) expect(namesIn(pod)).toEqual(['app', 'logs', 'tmp']);
  });

  describe('answers those who know the key', () => {
    test('and no one else', async () => {
      const wrong = [{ secret: 'x'.repeat(48) }, { node: 'node-2' }];
      for (const changes of wrong) expect(await statusOf(node.connect(changes).agent.health())).toBe('no connection');
      expect(await statusOf(node.api.health())).toBe('answered');
    });

    test('the former one, too, while the file has both', async () => {
      const [former, next] = [node.secret, 'n'.repeat(48)];
      const answers = () =>
        Promise.all([former, next].map((secret) => statusOf(node.connect({ secret }).agent.health())));
      const restartWith = async (...lines: string[]) => {
        await node.stopAgent();
        node.writeSecrets(...lines);
        await node.startAgent();
      };
      for (const [lines, expected] of [
        [
          [former, next],
          ['answered', 'answered'],
        ],
        [
          [next, former],
          ['answered', 'answered'],
        ],
        [[next], ['no connection', 'answered']],
        [[former], ['answered', 'no connection']],
      ] as const) {
        await restartWith(...lines);
        expect(await answers()).toEqual(expected);
      }
    });

    test('in plain text or by a certificate to no one', async () => {
      const plain = await new Promise((resolve) => {
        const call = get({ port: node.port, host: '127.0.0.1', path: '/v1/health' });
        call.on('error', () => resolve('closed')).on('response', ({ statusCode }) => resolve(statusCode));
      });
      expect(plain).toBe('closed');
      const socket = connectTls({ port: node.port, host: '127.0.0.1', rejectUnauthorized: false });
      const [cause] = (await once(socket, 'error')) as [Error];
      expect(cause.message).toMatch(/handshake failure/);
    });

    test('on the connection, but not in the call: 401', async () => {
      const tls = clientTls(keysOf(node.name, node.secret));
      const socket = connectTls({ port: node.port, host: '127.0.0.1', ...tls });
      await once(socket, 'secureConnect');
      const other = keysOf('node-2', node.secret).secret;
      socket.write(`GET /v1/health HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${other}\r\nconnection: close\r\n\r\n`);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /);
      expect([socket.getProtocol(), socket.getCipher().name]).toEqual(['TLSv1.2', 'ECDHE-PSK-CHACHA20-POLY1305']);
      socket.destroy();
    });

    test('while others open connections and say nothing', async () => {
      const silent = Array.from({ length: 200 }, () =>
        connect({ port: node.port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => undefined),
      );
      await Promise.all(silent.map((socket) => once(socket, 'connect')));
      expect(await statusOf(node.api.health())).toBe('answered');
      await expect.poll(() => silent.filter((socket) => socket.closed).length, patience).toBeGreaterThanOrEqual(136);
      for (const socket of silent) socket.destroy();
    });

    test('and lead: an older epoch is over, also after a restart', async () => {
      const pod = node.newPod();
      await node.leader(7).hello();
      const settings = { shellCommands: [], shellCommandPrefix: [], shellCommandPidPlaceholder: '{PID}' };
      const order = { taskId: pod.taskId, name: 'x', timestamp: 1, options: [] };
      for (const restart of [false, true]) {
        if (restart) await node.stopAgent();
        if (restart) await node.startAgent();
        const calls = [
          node.leader(6).prepare({ pod }),
          node.leader(6).ended({ taskIds: [] }),
          node.leader(6).runCommand({ order, settings: settings as never }),
          node.leader(6).updates({ incarnation: 'x', after: 0, waitMillis: 0 }),
        ];
        expect(await Promise.all(calls.map(statusOf))).toEqual([409, 409, 409, 409]);
      }
      expect(await node.leader(7).prepare({ pod })).toMatchObject({ outcome: 'PREPARED' });
    });
  });

  test('says what the node has, and of tasks that do not run nothing', async () => {
    const usage = await node.api.usage();
    expect(usage).toMatchObject({ slaveId: 'node-1', tasks: [], agent: { agentId: 'node-1', failures: 0 } });
    expect(usage.memTotalBytes).toBeGreaterThan(2 ** 27);
    const pod = node.newPod();
    expect(await node.leader(7).prepare({ pod })).toMatchObject({ outcome: 'PREPARED' });
    expect(await statusOf(node.api.task({ taskId: pod.taskId }).statistics())).toBe(404);
  });
});
