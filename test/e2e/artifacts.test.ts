import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isTerminal } from '../../src/core/model/enums.js';
import type { ExecutorData, ObjstoreArtifact } from '../../src/core/model/deploy.js';
import type { TaskHistory } from '../../src/core/model/task.js';
import type { SandboxListing } from '../../src/modules/sandbox/sandbox.service.js';
import { tarOf } from '../support/archives.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import { type Api, ApiError } from './support/api.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

/* Files of an object store and their signatures, from the deploy that a caller posts to what callers are told of its task. */

const keys = tempFolder();
const gpg = (words: string[], input?: string | Buffer) =>
  execFileSync(
    'gpg',
    ['--homedir', keys.path, '--batch', '--pinentry-mode', 'loopback', '--passphrase', '', ...words],
    { input, stdio: ['pipe', 'pipe', 'ignore'] },
  );
const signatureOf = (content: string | Buffer, key = 'trusted') => gpg(['-u', key, '--detach-sign'], content);
const md5 = (content: string | Buffer) => createHash('md5').update(content).digest('hex');

let store: TestObjectStore;
let installation: Installation;
let api: Api;
describe.skipIf(withoutObjectStore !== undefined)('artifacts of a store', () => {
  beforeAll(async () => {
    const trusted = join(keys.path, 'trusted');
    for (const name of ['trusted', 'stranger']) gpg(['--quick-generate-key', name, 'ed25519', 'sign', 'never']);
    mkdirSync(trusted);
    writeFileSync(join(trusted, 'pubring.gpg'), gpg(['--export', 'trusted']));
    store = await startObjectStore('apps');
    installation = new Installation({
      database: createDatabase,
      local: {
        artifactStore: { endpoint: store.url, ...store.keys, objstoreChunkSize: 1_048_576 },
        artifactSignatureKeys: trusted,
        maxTaskMessageLength: 200,
      },
    });
    ({ api } = await installation.start(['start']));
  }, 120_000);
  afterAll(async () => {
    await installation.dispose();
    execFileSync('gpgconf', ['--homedir', keys.path, '--kill', 'all'], { stdio: 'ignore' });
    await store.close();
    keys.remove();
  }, 90_000);

  const put = (filename: string, body: string | Buffer, changes: ObjstoreArtifact = {}): ObjstoreArtifact => {
    store.put('apps', `v1/${filename}`, { body });
    return {
      name: filename,
      filename,
      md5sum: md5(body),
      objstoreBucket: 'apps',
      objstoreObjectKey: `v1/${filename}`,
      ...changes,
    };
  };
  const signed = (filename: string, content: string, signature = signatureOf(content)) => ({
    objstoreArtifacts: [put(filename, content, { targetFolderRelativeToTask: 'app' })],
    objstoreArtifactSignatures: [{ ...put(`${filename}.sig`, signature), artifactFilename: filename }],
  });

  async function run(id: string, executorData: ExecutorData): Promise<TaskHistory> {
    await api.saveRequest({ id, requestType: 'RUN_ONCE' });
    await api.deploy({
      requestId: id,
      id: 'v1',
      customExecutorCmd: '/usr/local/bin/executor',
      executorData,
      resources: { cpus: 0.1, memoryMb: 64 },
    });
    return waitFor(`the end of ${id}`, async () => {
      const [task] = await api.endedTasks(id);
      return task?.lastTaskState && isTerminal(task.lastTaskState) && (await api.history(task.taskId.id));
    });
  }
  const endOf = ({ taskUpdates }: TaskHistory) => taskUpdates.at(-1)!;
  const textOf = async ({ task }: TaskHistory, file: string) => {
    const { id } = task.taskId;
    return (await api.get<{ data: string }>(`sandbox/${id}/read?path=${id}/${file}&offset=0`)).data;
  };

  test('a task runs what was fetched from the store: in parts, unpacked, signed and listed', async () => {
    const program = '#!/bin/sh\necho "program of the store, $(cat config/name), $(wc -c <big)"\n';
    const big = Buffer.alloc(2_500_000, 'x');
    const packed = gzipSync(
      tarOf([
        { name: 'config/', type: '5' },
        { name: 'config/name', content: 'packed' },
      ]),
    );
    const inApp = { targetFolderRelativeToTask: 'app' };
    const list = JSON.stringify({ objstoreArtifacts: [put('big', big, { ...inApp, filesize: big.length })] });
    const { objstoreArtifacts, objstoreArtifactSignatures } = signed('program', program);
    const history = await run('fetches', {
      cmd: 'sh program',
      objstoreArtifacts: [
        ...objstoreArtifacts,
        put('config.tar.gz', packed, inApp),
        put('list.json', list, { isArtifactList: true }),
      ],
      objstoreArtifactSignatures,
    });
    expect(endOf(history)).toMatchObject({ taskState: 'TASK_FINISHED', statusMessage: 'Exit code 0' });
    expect(await textOf(history, 'tail_of_finished_service.log')).toBe('program of the store, packed, 2500000\n');
    expect(await textOf(history, 'executor.gpg.out')).toContain('Good signature from "trusted"');
    const { id } = history.task.taskId;
    const { files } = await api.get<SandboxListing>(`sandbox/${id}/browse?path=${id}`);
    expect(files.map(({ name }) => name)).toContain('program.sig');
  }, 60_000);

  test.each([
    {
      name: 'a signature of other content',
      data: () => signed('a', 'content', signatureOf('other')),
      says: /^a: its signature is not good \(\/usr\/bin\/gpg ended with/,
    },
    {
      name: 'a signature of a stranger',
      data: () => signed('b', 'content', signatureOf('content', 'stranger')),
      says: /^b: its signature is not good/,
    },
    {
      name: 'another md5',
      data: () => ({ objstoreArtifacts: [put('c', 'content', { md5sum: md5('other') })] }),
      says: /^c: md5 .* instead of/,
    },
    {
      name: 'another size',
      data: () => ({ objstoreArtifacts: [put('d', 'content', { filesize: 3 })] }),
      says: /^d: 7 bytes instead of 3/,
    },
    {
      name: 'no such object',
      data: () => ({ objstoreArtifacts: [put('e', 'content', { objstoreObjectKey: 'nothing' })] }),
      says: /^e: there is no such object/,
    },
  ])(
    '$name is TASK_FAILED with the reason, and nothing was started',
    async ({ name, data, says }) => {
      const history = await run(name.replaceAll(' ', '-'), { cmd: 'touch started', ...data() });
      expect(endOf(history)).toMatchObject({ taskState: 'TASK_FAILED', statusMessage: expect.stringMatching(says) });
      expect(await textOf(history, 'executor.log')).toMatch(says);
      expect(history.taskUpdates.map(({ taskState }) => taskState)).not.toContain('TASK_RUNNING');
      const { requestId, deployId } = history.task.taskId;
      const { deployStatistics } = await api.deployHistory(requestId, deployId);
      expect(deployStatistics?.taskFailureEvents.map(({ type }) => type)).toEqual(['BAD_EXIT_CODE']);
    },
    60_000,
  );

  test('an artifact that does not say where it is, is refused by its field', async () => {
    await api.saveRequest({ id: 'nowhere', requestType: 'RUN_ONCE' });
    const cause = await api
      .deploy({
        requestId: 'nowhere',
        id: 'v1',
        customExecutorCmd: '/usr/local/bin/executor',
        executorData: { cmd: 'true', objstoreArtifacts: [{ filename: 'a', objstoreBucket: 'apps' }] },
      })
      .catch((error: unknown) => error);
    expect(cause).toBeInstanceOf(ApiError);
    expect(JSON.parse((cause as ApiError).body)).toMatchObject({
      status: 400,
      errors: [{ field: 'deploy.executorData.objstoreArtifacts[0].objstoreObjectKey', rule: 'supported' }],
    });
  });
});
