import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { processesUnder } from '../../src/agent/processes/processes.js';
import type { PodArtifactList, PodToPrepare } from '../../src/pod-agent/pod-agent-api.js';
import { tarOf } from '../support/archives.js';
import { PodNode, specOf, testUid } from '../support/pod-node.js';
import { waitFor } from '../support/wait-for.js';

const isRoot = process.getuid?.() === 0;
const md5 = (text: string | Buffer) => createHash('md5').update(text).digest('hex');

describe.skipIf(!isRoot)('files that the agent of a node gets for a pod', () => {
  let server: Server;
  let url: string;
  /** Paths that were asked for. */
  let asked: string[] = [];
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let node: PodNode;

  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      answer(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    asked = [];
    answer = (request, response) => void response.end(`content of ${request.url}`);
  });
  afterEach(() => node?.close());

  const start = async (settings: object = {}) => {
    node = await PodNode.start({ artifactCacheMegabytes: 3, maxArtifactMegabytes: 8, ...settings });
  };
  const prepare = (artifacts: Partial<PodArtifactList>, changes: Partial<PodToPrepare> = {}) =>
    node.prepare({ artifacts: { requestId: 'request', uris: [], ...artifacts }, ...changes });
  const ofExecutor = { executor: {} };
  const pathTo = ({ podName }: PodToPrepare, ...names: string[]) => join(node.root, podName, ...names);
  const said = (pod: PodToPrepare) => readdirSync(pathTo(pod, 'artifacts'));
  const ready = async (pod: PodToPrepare & { path: string }) => {
    await waitFor(`the files of ${pod.taskId}`, () => said(pod).length > 0 && !isUnderWay(pod));
    expect(said(pod)).toEqual(['ready']);
    return pod;
  };
  const failure = async (pod: PodToPrepare) => {
    await waitFor(`the failure of ${pod.taskId}`, () => said(pod).length > 0 && !isUnderWay(pod));
    expect(said(pod)).toEqual(['failed']);
    return JSON.parse(readFileSync(pathTo(pod, 'artifacts', 'failed'), 'utf8')) as object;
  };
  const isUnderWay = (pod: PodToPrepare) => existsSync(pathTo(pod, 'artifacts.json'));
  const askedFor = (path: string) => asked.filter((each) => each === path).length;
  const external = (path: string, content: string | Buffer, changes: object = {}) => ({
    filename: path.slice(1),
    url: url + path,
    md5sum: md5(content),
    ...changes,
  });

  test('are in its sandbox, and its own, before it is said that they are there', async () => {
    await start();
    const archive = gzipSync(tarOf([{ name: 'inner/file', content: 'packed' }]));
    answer = (request, response) => void response.end(request.url === '/a.tar.gz' ? archive : 'plain');
    const pod = await ready(
      await prepare({
        uris: [{ uri: `${url}/a.tar.gz` }, { uri: `${url}/tool`, executable: true, outputFile: 'bin/run' }],
      }),
    );
    expect(readFileSync(join(pod.path, 'inner/file'), 'utf8')).toBe('packed');
    expect(readFileSync(join(pod.path, 'bin/run'), 'utf8')).toBe('plain');
    for (const path of ['inner', 'inner/file', 'bin/run']) expect(statSync(join(pod.path, path)).uid).toBe(testUid);
    expect(statSync(join(pod.path, 'bin/run')).mode & 0o111).toBe(0o111);
    // Everyone in the container that waits may read it.
    for (const [path, mode] of [
      ['artifacts', 0o755],
      ['artifacts/ready', 0o644],
    ] as const)
      expect([statSync(pathTo(pod, path)).uid, statSync(pathTo(pod, path)).mode & 0o777]).toEqual([0, mode]);
  });

  test('of executorData are in the folder of the task, which has its directories', async () => {
    await start();
    const embedded = {
      filename: 'e',
      content: Buffer.from('here').toString('base64'),
      targetFolderRelativeToTask: 'app',
    };
    const pod = await ready(
      await prepare(
        { embeddedArtifacts: [embedded], externalArtifacts: [external('/x', 'content of /x')] },
        { ...ofExecutor, taskId: 'a:task' },
      ),
    );
    expect(pod.path).toBe(pathTo(pod, 'sandbox', 'a_task'));
    // Who could give this name to something else would have that mounted.
    const above = statSync(pathTo(pod, 'sandbox'));
    expect([above.uid, above.gid, above.mode & 0o777]).toEqual([0, testUid, 0o750]);
    expect(readdirSync(pod.path).toSorted()).toEqual(['app', 'executor.log', 'logs', 'tmp', 'x']);
    expect(readFileSync(join(pod.path, 'app/e'), 'utf8')).toBe('here');
    for (const name of ['.', ...readdirSync(pod.path)]) expect(statSync(join(pod.path, name)).uid).toBe(testUid);
    expect((await node.api.task({ taskId: 'a:task' }).sandbox().list({ path: 'a_task' })).length).toBe(5);
  });

  test('are fetched once for several tasks, by their md5, and asking twice for a pod changes nothing', async () => {
    await start();
    const list = { externalArtifacts: [external('/x', 'content of /x')] };
    const pods = await Promise.all([1, 2, 3].map(() => prepare(list, ofExecutor)));
    for (const pod of pods) await ready(pod);
    const [first] = pods;
    const again = await node.leader().prepare({ pod: first! });
    expect(again).toEqual({ outcome: 'PREPARED', path: first!.path, artifacts: pathTo(first!, 'artifacts') });
    await ready(await prepare(list, ofExecutor));
    expect(askedFor('/x')).toBe(1);
    const kept = readdirSync(join(node.root, '.artifacts/kept'));
    expect(kept.length).toBe(1);
    expect(statSync(join(node.root, '.artifacts/kept')).mode & 0o777).toBe(0o700);
  });

  test('are got by a process that has no rights but those of the task', async () => {
    await start();
    const rights: string[] = [];
    answer = (_request, response) => {
      for (const { pid } of processesUnder(node.root)) rights.push(readFileSync(`/proc/${pid}/status`, 'utf8'));
      response.end('x');
    };
    await ready(await prepare({ uris: [{ uri: `${url}/x` }] }));
    expect(rights.length).toBe(1);
    expect(rights[0]).toMatch(new RegExp(`^Uid:\\s+${testUid}\\s+${testUid}\\s+${testUid}\\s+${testUid}$`, 'm'));
    expect(rights[0]).toMatch(/^CapEff:\s+0+$/m);
    expect(rights[0]).toMatch(/^NoNewPrivs:\s+1$/m);
  });

  test.each([
    {
      why: 'has another md5',
      list: () => ({ externalArtifacts: [external('/x', 'other')] }),
      says: `x: md5 ${md5('content of /x')} instead of ${md5('other')}`,
    },
    { why: 'is not there', list: () => ({ uris: [{ uri: `${url}/gone` }] }), says: 'HTTP 404' },
    {
      why: 'is larger than one may be',
      list: () => ({ externalArtifacts: [external('/large', '')] }),
      says: 'large: is larger than 8 MB',
    },
    {
      why: 'is of a store that the agent does not know',
      list: () => ({ objstoreArtifacts: [{ filename: 'a', objstoreBucket: 'b', objstoreObjectKey: 'k' }] }),
      says: 'The agent has no object store for artifacts (agent.settings.artifactStore)',
    },
    {
      why: 'is one of the node',
      list: () => ({ uris: [{ uri: '/etc/passwd' }] }),
      says: 'agent.settings.allowedArtifactPaths allows no file /etc/passwd',
    },
    {
      why: 'leads out of the sandbox by an archive',
      list: () => ({ uris: [{ uri: `${url}/above.tar` }] }),
      says: 'above.tar: tar: ',
    },
  ])('one that $why ends the task, with the reason', async ({ list, says }) => {
    await start();
    answer = (request, response) => {
      if (request.url === '/gone') return void response.writeHead(404).end();
      if (request.url === '/large') return void response.end(Buffer.alloc(9 << 20));
      if (request.url === '/above.tar') return void response.end(tarOf([{ name: '../../../up', content: 'x' }]));
      response.end(`content of ${request.url}`);
    };
    const pod = await prepare(list(), ofExecutor);
    expect(await failure(pod)).toEqual({
      state: 'TASK_FAILED',
      message: expect.stringContaining(says) as string,
      reason: 'REASON_CONTAINER_LAUNCH_FAILED',
    });
    expect(readFileSync(join(pod.path, 'executor.log'), 'utf8')).toContain(says);
    expect(existsSync(join(node.root, 'up'))).toBe(false);
  });

  test('that take more than its disk end it by that limit', async () => {
    await start();
    answer = (_request, response) => void response.end(Buffer.alloc(3 << 20));
    expect(await failure(await prepare({ uris: [{ uri: `${url}/x` }] }, { diskMb: 2 }))).toMatchObject({
      state: 'TASK_FAILED',
      reason: 'REASON_CONTAINER_LIMITATION_DISK',
    });
  });

  test('that take too long end it', async () => {
    await start({ artifactTimeoutSeconds: 1 });
    answer = () => undefined;
    expect(await failure(await prepare({ uris: [{ uri: `${url}/x` }] }))).toMatchObject({
      message: 'Fetching the files of the task took longer than 1 s',
    });
  });

  test('are not wanted any more when its pod has ended: nothing goes on, and nothing is said', async () => {
    await start();
    answer = () => undefined;
    const pod = await prepare({ externalArtifacts: [external('/x', 'x')], uris: [{ uri: `${url}/y` }] }, ofExecutor);
    await waitFor('the download', () => askedFor('/y') > 0 || askedFor('/x') > 0);
    await node.leader().ended({ taskIds: [pod.taskId] });
    expect(said(pod)).toEqual([]);
    expect(isUnderWay(pod)).toBe(false);
    await waitFor('the end of the download', () => processesUnder(node.root).length === 0);
    await node.stopAgent();
    await node.startAgent();
    expect(said(pod)).toEqual([]);
  });

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'are got from the beginning by the next agent, after the end of the former by %s',
    async (signal) => {
      await start();
      let isOpen = false;
      answer = (request, response) =>
        void (isOpen || request.url !== '/slow' ? response.end('x') : response.write('h'));
      const pod = await prepare(
        {
          embeddedArtifacts: [{ filename: 'e', content: '' }],
          externalArtifacts: [external('/x', 'x')],
          uris: [{ uri: `${url}/first`, outputFile: 'first' }, { uri: `${url}/slow` }],
        },
        ofExecutor,
      );
      await waitFor('the download', () => askedFor('/slow') === 1);
      await node.stopAgent(signal);
      expect(said(pod)).toEqual([]);
      // As what a task could not have made: all of it goes.
      writeFileSync(pathTo(pod, 'sandbox', 'left'), '');
      mkdirSync(join(pod.path, 'e'));
      isOpen = true;
      await node.startAgent();
      await ready(pod);
      expect(readdirSync(pathTo(pod, 'sandbox'))).toEqual([pod.taskId]);
      const all = ['app', 'e', 'executor.log', 'first', 'logs', 'slow', 'tmp', 'x'];
      expect(readdirSync(pod.path).toSorted()).toEqual(all);
      expect(lstatSync(join(pod.path, 'e')).isFile()).toBe(true);
      expect([askedFor('/slow'), askedFor('/x')]).toEqual([2, 1]);
      // Said is said.
      await node.stopAgent('SIGKILL');
      await node.startAgent();
      expect(askedFor('/slow')).toBe(2);
    },
  );

  test('are for every user of its container, where the image says who that is', async () => {
    await start();
    const archive = tarOf([
      { name: 'closed', type: '5', mode: '0000700' },
      { name: 'closed/tool', content: 'x', mode: '0000700' },
      { name: 'link', type: '2', linkTo: '/etc/shadow' },
    ]);
    answer = (_request, response) => void response.end(archive);
    const shadow = statSync('/etc/shadow').mode;
    const pod = await ready(await prepare({ uris: [{ uri: `${url}/a.tar` }] }, { user: undefined }));
    const modeOf = (path: string) => statSync(join(pod.path, path)).mode & 0o7777;
    expect([modeOf('.'), modeOf('closed'), modeOf('closed/tool'), modeOf('a.tar')]).toEqual([
      0o777, 0o777, 0o777, 0o666,
    ]);
    expect(statSync(pod.path).uid).toBe(0);
    // One that has nothing else, and no process any more.
    const { uid } = statSync(join(pod.path, 'closed'));
    expect(uid).toBeGreaterThan(1_000);
    expect(uid).not.toBe(testUid);
    expect(statSync('/etc/shadow').mode).toBe(shadow);
  });

  test('are got for a pod that an older agent has prepared without', async () => {
    await start();
    const bare = await node.prepare();
    const pod = { ...bare, artifacts: { requestId: 'r', uris: [{ uri: `${url}/x` }] } };
    expect(await node.leader().prepare({ pod })).toMatchObject({ artifacts: pathTo(pod, 'artifacts') });
    await ready(pod);
    expect(readdirSync(pod.path)).toEqual(['x']);
  });

  test('and what they hold is in no file of the agent when they are there', async () => {
    await start();
    const content = Buffer.from('a password').toString('base64');
    const pod = await ready(await prepare({ embeddedArtifacts: [{ filename: 'e', content }] }, ofExecutor));
    expect(JSON.stringify(specOf(node, pod))).not.toContain(content);
    expect(readdirSync(pathTo(pod)).toSorted()).toEqual(['artifacts', 'logs', 'sandbox', 'spec.json']);
  });
});
