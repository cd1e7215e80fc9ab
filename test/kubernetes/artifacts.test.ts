import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createLine } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { KubernetesDriver } from '../../src/cluster/kubernetes/kubernetes-driver.js';
import type { ExecutorData } from '../../src/core/model/deploy.js';
import { isTerminal } from '../../src/core/model/enums.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { tarOf } from '../support/archives.js';
import { EventRecorder } from '../support/event-recorder.js';
import { launchSpec } from '../support/launch-spec.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import { Lab, labBinaries } from './lab/lab.js';

/* Files that tasks get before they begin: the agents of nodes fetch them, while their pods wait. */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const slow = { timeoutMillis: 60_000, everyMillis: 100 };
const slaveId = 'node-1';
const md5 = (text: string | Buffer) => createHash('md5').update(text).digest('hex');
const withoutSignatures = withoutObjectStore ?? (existsSync('/usr/bin/gpg') ? undefined : 'gpg is not installed');

describe.skipIf(labBinaries === undefined)('artifacts in pods of a real Kubernetes', () => {
  const keys = tempFolder();
  let lab: Lab;
  let driver: KubernetesDriver;
  let seen: EventRecorder;
  let server: Server;
  let store: TestObjectStore | undefined;
  let lineToStore: ReturnType<typeof createLine> | undefined;
  let url: string;
  let count = 0;
  let epoch = 1;
  let asked: string[] = [];
  let answer: (request: IncomingMessage, response: ServerResponse) => void;

  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      answer(request, response);
    }).listen(0, '0.0.0.0');
    await once(server, 'listening');
    if (withoutObjectStore === undefined) await startStore();
    const storeSettings = (host: string) => ({
      artifactStore: {
        endpoint: `http://${host}:${(lineToStore!.address() as AddressInfo).port}`,
        ...store!.keys,
      },
    });
    lab = await Lab.start({
      hasAgents: true,
      agentSettings: (folder) => ({
        checkThreadsEveryMillis: 500,
        artifactSignatureKeys: join(folder, 'trusted'),
        // All programs of the image are there.
        artifactSignatureVerificationCommand: ['/bin/gpg', '--verify', '{artifactSignaturePath}', '{artifactPath}'],
        ...(store && storeSettings(Lab.address())),
      }),
    });
    if (withoutSignatures === undefined) makeKeys(join(lab.folder, 'files', 'trusted'));
    url = `http://${Lab.address()}:${(server.address() as AddressInfo).port}`;
    seen = new EventRecorder();
    driver = await KubernetesDriver.open({
      now: Date.now,
      settings: lab.settings(),
      defaultRackId: 'DEFAULT',
      log: quiet,
    });
    await driver.start(epoch, seen);
    await waitFor('the node', () => seen.slaves.size > 0, slow);
    await waitFor('it to be open', () => driver.machines()[0]?.closedBecause === undefined, slow);
  });
  afterAll(async () => {
    await driver?.close();
    await lab?.stop();
    server.closeAllConnections();
    server.close();
    lineToStore?.close();
    await store?.close();
    if (withoutSignatures === undefined) execFileSync('gpgconf', ['--homedir', keys.path, '--kill', 'all']);
    keys.remove();
  });
  beforeEach(() => {
    asked = [];
    answer = (request, response) => void response.end(`content of ${request.url}`);
  });

  /** It listens on loopback, where no pod gets. */
  async function startStore(): Promise<void> {
    store = await startObjectStore('builds');
    const { port } = new URL(store.url);
    lineToStore = createLine((near) => {
      const far = connect(Number(port), '127.0.0.1');
      near.on('error', () => far.destroy()).pipe(far);
      far.on('error', () => near.destroy()).pipe(near);
    }).listen(0, '0.0.0.0');
    await once(lineToStore, 'listening');
  }
  const gpg = (words: string[], input?: string) =>
    execFileSync(
      'gpg',
      ['--homedir', keys.path, '--batch', '--pinentry-mode', 'loopback', '--passphrase', '', ...words],
      { input, stdio: ['pipe', 'pipe', 'ignore'] },
    );
  function makeKeys(trusted: string): void {
    gpg(['--quick-generate-key', 'trusted', 'ed25519', 'sign', 'never']);
    mkdirSync(trusted);
    writeFileSync(join(trusted, 'pubring.gpg'), gpg(['--export', 'trusted']));
  }

  const specOf = (script: string, changes: Partial<LaunchSpec> = {}): LaunchSpec =>
    launchSpec({
      taskId: `request-deploy-${Date.now()}-${++count}-host-rack`,
      slaveId,
      incarnation: seen.onlyIncarnation(),
      command: { shell: true, value: script, arguments: [] },
      ...changes,
    });
  async function launch(script: string, changes: Partial<LaunchSpec> = {}): Promise<LaunchSpec> {
    const spec = specOf(script, changes);
    expect(await driver.launch([spec], epoch)).toMatchObject([{ outcome: 'ACCEPTED' }]);
    return spec;
  }
  const managed = (cmd: string, data: Omit<ExecutorData, 'cmd'>, changes: Partial<LaunchSpec> = {}) =>
    launch(cmd, { executorData: { cmd, ...data }, ...changes });
  const lastOf = ({ taskId }: LaunchSpec, recorder = seen) =>
    recorder.updates.filter((update) => update.taskId === taskId).at(-1);
  /** Its end, which is to be this one. */
  const until = async (spec: LaunchSpec, state: string, recorder = seen) => {
    const last = await waitFor(
      `the end of ${spec.taskId}`,
      () => {
        const update = lastOf(spec, recorder);
        return update && isTerminal(update.state) && update;
      },
      slow,
    );
    expect(last, JSON.stringify(last)).toMatchObject({ state });
    return spec;
  };
  async function textOf({ taskId }: LaunchSpec, path: string): Promise<string | undefined> {
    const sandbox = await driver.sandbox(taskId, slaveId);
    return (await sandbox?.read(path, 0, 10_000))?.data.toString();
  }
  const printed = async (spec: LaunchSpec, text: string) => {
    await until(spec, 'TASK_FINISHED');
    await waitFor('what it printed', async () => (await textOf(spec, 'stdout')) === text, slow);
  };
  const external = (path: string, content: string, changes: object = {}) => ({
    filename: path.slice(1),
    url: url + path,
    md5sum: md5(content),
    ...changes,
  });
  const askedFor = (path: string) => asked.filter((each) => each === path).length;

  test('files of uris are in the sandbox, unpacked, before the first program of the task begins', async () => {
    const archive = gzipSync(tarOf([{ name: 'inner/file', content: 'packed\n' }]));
    const tool = '#!/bin/sh\necho ran\n';
    answer = (request, response) => void response.end(request.url === '/a.tar.gz' ? archive : tool);
    const artifacts = [
      { uri: `${url}/a.tar.gz` },
      { uri: `${url}/tool`, executable: true },
      { uri: `${url}/tool`, outputFile: 'bin/plain' },
    ];
    const step = { name: 'look', environment: {}, timeoutMillis: 30_000 };
    const script = 'cat inner/file >>seen; echo added >>inner/file';
    const programs = {
      init: [{ ...step, command: { shell: true, value: script, arguments: [] } }],
      sidecars: [],
      post: [],
    };
    const spec = await launch('cat seen inner/file; ./tool; test -x bin/plain || echo plain', { artifacts, programs });
    await printed(spec, 'packed\npacked\nadded\nran\nplain\n');
    expect(seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
  });

  test('a task with executorData runs in app, with its embedded and external files, as on a local agent', async () => {
    const data = {
      embeddedArtifacts: [
        {
          filename: 'run.sh',
          content: Buffer.from('cat ../x in; pwd; ls ..').toString('base64'),
          targetFolderRelativeToTask: 'app',
        },
      ],
      externalArtifacts: [
        external('/x', 'content of /x'),
        external('/in', 'content of /in', { targetFolderRelativeToTask: 'app' }),
      ],
    };
    const spec = await managed('sh run.sh', data);
    await printed(spec, 'content of /xcontent of /in/mnt/cluster/sandbox/app\napp\nexecutor.log\nlogs\ntmp\nx\n');
    expect(await textOf(spec, `${spec.taskId}/app/in`)).toBe('content of /in');
  });

  test('a second task gets by its md5 what the first one has fetched, and none can change it', async () => {
    const data = { externalArtifacts: [external('/shared', 'content of /shared')] };
    const spoil = 'cat ../shared; chmod u+w ../shared; echo spoilt >>../shared';
    await printed(await managed(spoil, data), 'content of /shared');
    await printed(await managed('cat ../shared', data), 'content of /shared');
    expect(askedFor('/shared')).toBe(1);
  });

  test('another content than its md5 says ends the task with the reason, and it never runs', async () => {
    const spec = await managed('echo began', { externalArtifacts: [external('/wrong', 'other')] });
    await until(spec, 'TASK_FAILED');
    const says = `wrong: md5 ${md5('content of /wrong')} instead of ${md5('other')}`;
    expect(lastOf(spec)).toMatchObject({ message: says, reason: 'REASON_CONTAINER_LAUNCH_FAILED' });
    expect(seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_FAILED']);
    expect(await textOf(spec, `${spec.taskId}/executor.log`)).toContain(says);
    expect(await textOf(spec, 'stdout')).toBeFalsy();
  });

  test('more than its disk ends the task by that limit', async () => {
    answer = (_request, response) => void response.end(Buffer.alloc(3 << 20));
    const spec = await launch('true', { artifacts: [{ uri: `${url}/large` }], diskMb: 2 });
    await until(spec, 'TASK_FAILED');
    expect(lastOf(spec)).toMatchObject({ reason: 'REASON_CONTAINER_LIMITATION_DISK' });
  });

  test('a kill ends a task whose files are on their way, and the download with it', async () => {
    let isBroken = false;
    answer = (request, response) => {
      response.write('half');
      request.on('close', () => (isBroken = true));
    };
    const spec = await launch('echo began', { artifacts: [{ uri: `${url}/slow` }] });
    await waitFor('the download', () => askedFor('/slow') > 0, slow);
    expect(await driver.kill(spec.taskId, slaveId, 60_000, epoch)).toBe('KILLING');
    await until(spec, 'TASK_KILLED');
    await waitFor('the end of the download', () => isBroken, slow);
    expect(seen.statesOf(spec.taskId)).not.toContain('TASK_RUNNING');
  });

  test('the next agent goes on with what the former was about to fetch, and the task begins once', async () => {
    let isOpen = false;
    answer = (request, response) => void (isOpen ? response.end(`content of ${request.url}`) : response.write('half'));
    const spec = await managed('cat ../late ../e; echo began', {
      embeddedArtifacts: [{ filename: 'e', content: Buffer.from('here').toString('base64') }],
      externalArtifacts: [external('/late', 'content of /late', { md5sum: undefined })],
    });
    await waitFor('the download', () => askedFor('/late') > 0, slow);
    const back = await lab.agents!.takeAway();
    isOpen = true;
    expect(seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING']);
    await back();
    await printed(spec, 'content of /latehere' + 'began\n');
    expect(askedFor('/late')).toBe(2);
  });

  test('limits of executorData hold: open files, and threads', async () => {
    await printed(await managed('ulimit -n', { maxOpenFiles: 77 }), '77\n');
    const many = await managed(`${'sleep 600 & '.repeat(9)} wait`, { maxTaskThreads: 4 }, { killGraceMillis: 1_000 });
    await until(many, 'TASK_FAILED');
    expect(lastOf(many)).toMatchObject({
      message: expect.stringMatching(/^Killed for too many threads: \d+, limit 4$/) as string,
      reason: 'REASON_CONTAINER_LIMITATION',
    });
  });

  test('without a user that is known every user of the container may read and write what came', async () => {
    const recorder = new EventRecorder();
    await driver.stop();
    const other = await KubernetesDriver.open({
      now: Date.now,
      settings: lab.settings({ runAs: 'IMAGE_USER' }),
      defaultRackId: 'DEFAULT',
      log: quiet,
    });
    try {
      await other.start(++epoch, recorder);
      await waitFor('the node', () => recorder.slaves.size > 0, slow);
      await waitFor('it to be open', () => other.machines()[0]?.closedBecause === undefined, slow);
      const archive = tarOf([{ name: 'closed', mode: '0000600', content: 'x' }]);
      answer = (_request, response) => void response.end(archive);
      const script = 'id -u; cat closed; echo y >>closed; echo z >new';
      // By its path: the shell has a program of its own by that name.
      const asAnother = `/bin/setpriv --reuid=1234 --regid=1234 --clear-groups sh -c '${script}'`;
      const spec = specOf(asAnother, { artifacts: [{ uri: `${url}/a.tar` }] });
      expect(await other.launch([spec], epoch)).toMatchObject([{ outcome: 'ACCEPTED' }]);
      const read = async (path: string) =>
        (await (await other.sandbox(spec.taskId, slaveId))?.read(path, 0, 100))?.data.toString();
      await until(spec, 'TASK_FINISHED', recorder);
      await waitFor('what it printed', async () => (await read('stdout')) === '1234\nx', slow);
      expect([await read('closed'), await read('new')]).toEqual(['xy\n', 'z\n']);
    } finally {
      await other.close();
      await driver.start(++epoch, seen);
    }
  });

  describe.skipIf(withoutSignatures !== undefined)('of an object store', () => {
    const put = (filename: string, body: string | Buffer, changes: object = {}) => {
      store!.put('builds', `apps/${filename}`, { body });
      return { filename, objstoreBucket: 'builds', objstoreObjectKey: `apps/${filename}`, ...changes };
    };
    const signatureOf = (content: string) => gpg(['-u', 'trusted', '--detach-sign'], content);

    test('objects are fetched with the keys of the agent, and what a list of them names', async () => {
      const listed = JSON.stringify({ objstoreArtifacts: [put('second', 'two')] });
      const data = {
        objstoreArtifacts: [put('first', 'one', { md5sum: md5('one') }), put('list', listed, { isArtifactList: true })],
      };
      await printed(await managed('cat ../first ../second', data), 'onetwo');
    });

    test('a good signature lets the task begin, another one does not', async () => {
      const signed = (name: string, content: string, signature: Buffer) => ({
        objstoreArtifacts: [put(name, content)],
        objstoreArtifactSignatures: [{ ...put(`${name}.sig`, signature), artifactFilename: name }],
      });
      const good = await managed('cat ../good', signed('good', 'content', signatureOf('content')));
      await printed(good, 'content');
      expect(await textOf(good, `${good.taskId}/executor.gpg.out`)).toContain('Good signature from "trusted"');
      const bad = await managed('true', signed('bad', 'content', signatureOf('other')));
      await until(bad, 'TASK_FAILED');
      expect(lastOf(bad)?.message).toContain('bad: its signature is not good (/bin/gpg ended with');
    });
  });
});
