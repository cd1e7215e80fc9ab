import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ExecutorData, ObjstoreArtifact } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { tarOf } from '../support/archives.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/* Files of an object store, what signs them, and files that list further ones. */

const keys = tempFolder();
let store: TestObjectStore;
let cluster: AgentCluster;

const md5 = (text: string | Buffer) => createHash('md5').update(text).digest('hex');
const gpg = (words: string[], input?: string | Buffer) =>
  execFileSync(
    'gpg',
    ['--homedir', keys.path, '--batch', '--pinentry-mode', 'loopback', '--passphrase', '', ...words],
    {
      input,
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
const signatureOf = (content: string | Buffer, key = 'trusted') => gpg(['-u', key, '--detach-sign'], content);

describe.skipIf(withoutObjectStore !== undefined)('artifacts of a store', () => {
  beforeAll(async () => {
    const trusted = join(keys.path, 'trusted');
    for (const name of ['trusted', 'stranger']) gpg(['--quick-generate-key', name, 'ed25519', 'sign', 'never']);
    mkdirSync(trusted);
    writeFileSync(join(trusted, 'pubring.gpg'), gpg(['--export', 'trusted']));
    store = await startObjectStore('open', 'mine');
  }, 180_000);
  afterAll(async () => {
    execFileSync('gpgconf', ['--homedir', keys.path, '--kill', 'all'], { stdio: 'ignore' });
    await store.close();
    keys.remove();
  });

  const start = async (settings: object = {}, storeSettings: object = {}, options: object = {}) => {
    cluster = await AgentCluster.start({
      settings: {
        maxTaskMessageLength: 400,
        artifactSignatureKeys: join(keys.path, 'trusted'),
        artifactStore: { endpoint: store.url, ...store.keys, ...storeSettings },
        ...settings,
      },
      ...options,
    });
  };
  beforeEach(() => {
    store.before = () => undefined;
    store.calls.length = 0;
  });
  afterEach(() => cluster.close());

  const launch = (data: Omit<ExecutorData, 'cmd'>, cmd = 'true', changes: Partial<LaunchSpec> = {}) =>
    cluster.launch('', {
      executorData: { cmd, ...data },
      command: { shell: true, value: cmd, arguments: [] },
      ...changes,
    });
  const put = (filename: string, body: string | Buffer, changes: ObjstoreArtifact = {}): ObjstoreArtifact => {
    const objstoreBucket = changes.objstoreBucket ?? 'open';
    store.put(objstoreBucket, `apps/${filename}`, { body });
    return { filename, objstoreBucket, objstoreObjectKey: `apps/${filename}`, ...changes };
  };
  const inArea = (spec: LaunchSpec, ...path: string[]) =>
    cluster.sandbox(spec, spec.taskId.replaceAll(':', '_'), ...path);
  const textOf = (spec: LaunchSpec, file: string) => readFileSync(inArea(spec, file), 'utf8');
  const failure = async (spec: LaunchSpec) => cluster.untilState(spec, 'TASK_FAILED');
  const finished = async (spec: LaunchSpec) => {
    await cluster.untilState(spec, 'TASK_FINISHED');
    return spec;
  };
  const getsOf = (key: string) => store.calls.filter((call) => call.startsWith('GET') && call.includes(key)).length;

  describe('an object', () => {
    test('is fetched in parts that make it whole', async () => {
      await start({}, { objstoreChunkSize: 1_048_576 });
      const body = Buffer.from(Array.from({ length: 3_500_000 }, (_, index) => index % 251));
      const artifact = put('big.bin', body, {
        md5sum: md5(body),
        filesize: body.length,
        targetFolderRelativeToTask: 'app',
      });
      const spec = await finished(await launch({ objstoreArtifacts: [artifact] }, 'md5sum big.bin'));
      expect(textOf(spec, 'tail_of_finished_service.log')).toBe(`${md5(body)}  big.bin\n`);
      expect(getsOf('big.bin')).toBe(4);
      await finished(await launch({ objstoreArtifacts: [artifact] }));
      expect(getsOf('big.bin')).toBe(4);
    });

    test('is unpacked, or empty, as it is', async () => {
      await start();
      const packed = put('a.tar.gz', gzipSync(tarOf([{ name: 'inner', content: 'packed' }])), {
        targetFolderRelativeToTask: 'app',
      });
      const spec = await finished(await launch({ objstoreArtifacts: [packed, put('none', '')] }, 'cat inner ../none'));
      expect(textOf(spec, 'tail_of_finished_service.log')).toBe('packed');
      expect(readdirSync(join(cluster.root, 'artifacts', 'kept'))).toEqual([]);
    });

    test('of a bucket with keys of its own is fetched with these', async () => {
      await start({}, { objstoreSecretKey: 'wrong', objstoreBucketCredentials: { mine: store.keys } });
      const own = put('a', 'mine', { objstoreBucket: 'mine' });
      expect(
        textOf(await finished(await launch({ objstoreArtifacts: [own] }, 'cat ../a')), 'tail_of_finished_service.log'),
      ).toBe('mine');
      expect(await failure(await launch({ objstoreArtifacts: [put('b', 'x')] }))).toContain(
        'b: the store lets the agent not',
      );
    });

    test.each([
      { why: 'is not there', changes: { objstoreObjectKey: 'apps/nothing' }, says: 'a: there is no such object' },
      { why: 'has another size', changes: { filesize: 3 }, says: 'a: 7 bytes instead of 3' },
      { why: 'has other content', changes: { md5sum: md5('no') }, says: `a: md5 ${md5('content')} instead of` },
    ])('that $why fails the task', async ({ changes, says }) => {
      await start();
      const spec = await launch({ objstoreArtifacts: [{ ...put('a', 'content'), ...changes }] });
      expect(await failure(spec)).toContain(says);
      expect(textOf(spec, 'executor.log')).toContain(says);
    });

    test('of a store that says nothing is tried so often, and then fails the task', async () => {
      await start({}, { objstoreChunkDownloadTimeoutMillis: 100, objstoreChunkRetries: 2 });
      const artifact = put('a', 'content');
      store.before = () => (store.calls.at(-1)!.startsWith('GET') ? new Promise<void>(() => undefined) : undefined);
      expect(await failure(await launch({ objstoreArtifacts: [artifact] }))).toContain(
        'a: the store has sent nothing for 100 ms',
      );
      expect(getsOf('apps/a')).toBe(2);
    });

    test('that breaks off once is tried again', async () => {
      await start({}, { objstoreChunkDownloadTimeoutMillis: 500 });
      const artifact = put('a', 'content');
      let isFirst = true;
      store.before = () => {
        if (!isFirst || !store.calls.at(-1)!.startsWith('GET')) return undefined;
        isFirst = false;
        return new Promise<void>(() => undefined);
      };
      const spec = await finished(await launch({ objstoreArtifacts: [artifact] }, 'cat ../a'));
      expect(textOf(spec, 'tail_of_finished_service.log')).toBe('content');
    });

    test('that takes too long as a whole fails the task', async () => {
      await start({}, { objstoreDownloadTimeoutMillis: 300 });
      const artifact = put('a', 'content');
      store.before = () => new Promise<void>(() => undefined);
      expect(await failure(await launch({ objstoreArtifacts: [artifact] }))).toBe('a: took longer than 300 ms');
    });

    test('leaves none of the keys where the task can see them', async () => {
      await start();
      let isHeld = true;
      store.before = async () => void (await waitFor('the look', () => !isHeld));
      const spec = await launch({ objstoreArtifacts: [put('a', 'x')] }, 'true');
      await waitFor('the download', () => store.calls.length > 0);
      const { uid } = statSync(cluster.sandbox(spec));
      for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        const read = (file: string) => {
          try {
            return readFileSync(`/proc/${pid}/${file}`, 'latin1');
          } catch {
            return '';
          }
        };
        if (!read('environ').includes(cluster.root)) continue;
        expect(`${read('environ')} ${read('cmdline')}`).not.toContain(store.keys.objstoreSecretKey);
        if (process.getuid?.() === 0) expect(read('status')).not.toMatch(new RegExp(`^Uid:\\s+${uid}\\s`, 'm'));
      }
      isHeld = false;
      await finished(spec);
      const grep = execFileSync('sh', [
        '-c',
        'grep -rl "$1" "$2" || true',
        'sh',
        `"${store.keys.objstoreSecretKey}"`,
        cluster.sandbox(spec),
      ]);
      expect(grep.toString()).toBe('');
    });
  });

  describe('a signature', () => {
    const signed = (filename: string, content: string, signature: Buffer | string = signatureOf(content)) => ({
      objstoreArtifacts: [put(filename, content)],
      objstoreArtifactSignatures: [{ ...put(`${filename}.sig`, signature), artifactFilename: filename }],
    });

    test('that is good lets the task start, and what gpg said is in its folder', async () => {
      await start();
      const spec = await finished(await launch(signed('a', 'content'), 'cat ../a'));
      expect(textOf(spec, 'tail_of_finished_service.log')).toBe('content');
      expect(textOf(spec, 'executor.gpg.out')).toMatch(/^a\.sig of a:\n[^]*Good signature from "trusted"/);
      expect(existsSync(inArea(spec, 'a.sig'))).toBe(true);
    });

    test('is checked for files of other servers, too', async () => {
      await start({ failOnArtifactWithNoMatchingSignature: true });
      const server: Server = createServer((_request, response) => void response.end('content')).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
      const { objstoreArtifactSignatures } = signed('a', 'content');
      await finished(await launch({ externalArtifacts: [{ filename: 'a', url }], objstoreArtifactSignatures }));
      const other = signed('a', 'other').objstoreArtifactSignatures;
      const spec = await launch({ externalArtifacts: [{ filename: 'a', url }], objstoreArtifactSignatures: other });
      expect(await failure(spec)).toContain('a: its signature is not good');
      expect(await failure(await launch({ externalArtifacts: [{ filename: 'a', url }] }))).toBe('a: has no signature');
      server.closeAllConnections();
      server.close();
    });

    test.each([
      { why: 'of other content', make: () => signed('a', 'content', signatureOf('other')) },
      { why: 'of a stranger', make: () => signed('a', 'content', signatureOf('content', 'stranger')) },
      { why: 'that is none', make: () => signed('a', 'content', 'nothing') },
      {
        why: 'that is a message with content of its own',
        make: () => signed('a', 'content', gpg(['-u', 'trusted', '--sign'], 'content')),
      },
      {
        why: 'of the first of two files of one name',
        make: () => {
          const { objstoreArtifacts, objstoreArtifactSignatures } = signed('a', 'content');
          const second = { ...put('b', 'other'), filename: 'a', targetFolderRelativeToTask: 'app' };
          return { objstoreArtifacts: [...objstoreArtifacts, second], objstoreArtifactSignatures };
        },
      },
    ])('$why fails the task, before anything is in its place', async ({ make }) => {
      await start();
      const spec = await launch(make());
      expect(await failure(spec)).toContain('a: its signature is not good (/usr/bin/gpg ended with');
      expect(textOf(spec, 'executor.gpg.out')).toContain('a.sig of a:');
      expect(textOf(spec, 'executor.log')).toContain('a: its signature is not good');
      expect(existsSync(inArea(spec, 'a'))).toBe(false);
    });

    test('that is not good is a line in executor.log, where the settings say so', async () => {
      await start({ failTaskOnInvalidArtifactSignature: false });
      const spec = await finished(await launch(signed('a', 'content', signatureOf('other')), 'cat ../a'));
      expect(textOf(spec, 'executor.log')).toContain('a: its signature is not good');
    });

    test('and what it signs need each other only where the settings say so', async () => {
      await start();
      const [artifact, lone] = [signed('a', 'x').objstoreArtifacts, signed('b', 'x').objstoreArtifactSignatures];
      const spec = await finished(await launch({ objstoreArtifacts: artifact, objstoreArtifactSignatures: lone }));
      expect(textOf(spec, 'executor.log')).toBe('b: has a signature and is no artifact\na: has no signature\n');
      await cluster.close();
      await start({ failOnSignatureWithNoMatchingArtifact: true });
      expect(await failure(await launch({ objstoreArtifactSignatures: lone }))).toBe(
        'b: has a signature and is no artifact',
      );
      await cluster.close();
      await start({ failOnArtifactWithNoMatchingSignature: true });
      expect(await failure(await launch({ objstoreArtifacts: artifact }))).toBe('a: has no signature');
    });

    test('is checked by a user without rights, who is ended with the task', async () => {
      const script = 'id -u; echo "$HOME $GNUPGHOME"; touch "$1" || echo closed; sleep 600';
      await start({ artifactSignatureVerificationCommand: ['/bin/sh', '-c', script, 'sh', '{artifactPath}'] });
      const spec = await launch(signed('a', 'content'));
      const sleeping = () =>
        execFileSync('ps', ['-eo', 'uid,args'], { encoding: 'utf8' })
          .split('\n')
          .filter((line) => line.includes(`${cluster.root}/artifacts/new`) && line.includes('sleep 600'));
      const [line = ''] = await waitFor('the check', () => (sleeping().length > 0 ? sleeping() : undefined));
      if (process.getuid?.() === 0) {
        expect(Number(line.trim().split(' ')[0])).toBeGreaterThan(1_000_000);
        expect(Number(line.trim().split(' ')[0])).not.toBe(statSync(cluster.sandbox(spec)).uid);
      }
      await cluster.driver.kill(spec.taskId, 's1', 60_000, 1);
      expect(await cluster.untilState(spec, 'TASK_KILLED')).toBe('Killed before start');
      await waitFor('the end of the check', () => sleeping().length === 0);
      expect(readdirSync(join(cluster.root, 'artifacts', 'new'))).toEqual([]);
    });

    test('that cannot be checked on this machine loses the task', async () => {
      await start({ artifactSignatureVerificationCommand: ['/no/such/program', '{artifactPath}'] });
      expect(await cluster.untilState(await launch(signed('a', 'content')), 'TASK_LOST')).toContain(
        '/no/such/program cannot be run on this machine',
      );
    });
  });

  describe('a list of artifacts', () => {
    const listOf = (name: string, content: unknown, changes: ObjstoreArtifact = {}) =>
      put(name, typeof content === 'string' ? content : JSON.stringify(content), { isArtifactList: true, ...changes });
    const asOlder = ({ objstoreBucket, objstoreObjectKey, ...rest }: ObjstoreArtifact) => ({
      ...rest,
      s3Bucket: objstoreBucket,
      s3ObjectKey: objstoreObjectKey,
    });
    const embedded = (filename: string, text: string) => ({
      filename,
      content: [Buffer.from(text).toString('base64')],
      targetFolderRelativeToTask: 'app',
    });

    test('brings everything it names, in one second round', async () => {
      await start();
      const third = listOf('third.json', { embeddedArtifacts: [embedded('deepest', 'no')] });
      const lists = [
        listOf('one.json', {
          embeddedArtifacts: [embedded('b', 'B')],
          objstoreArtifacts: [put('c', 'C', { targetFolderRelativeToTask: 'app' }), third],
        }),
        listOf('two.json', { objstoreArtifacts: [put('d', 'D', { targetFolderRelativeToTask: 'app' })] }),
        // As the original's own classes write one.
        listOf('three.json', {
          embeddedArtifacts: [{ ...embedded('e', 'E'), content: Buffer.from('E').toString('base64'), md5sum: null }],
          externalArtifacts: null,
          s3Artifacts: [
            { ...asOlder(put('f', 'F', { targetFolderRelativeToTask: 'app' })), md5sum: null, isArtifactList: false },
          ],
        }),
      ];
      const spec = await finished(
        await launch(
          { embeddedArtifacts: [embedded('a', 'A')], objstoreArtifacts: lists },
          'cat a b c d e f ../one.json',
        ),
      );
      expect(textOf(spec, 'tail_of_finished_service.log')).toMatch(/^ABCDEF\{"embeddedArtifacts"/);
      expect(existsSync(inArea(spec, 'third.json'))).toBe(true);
      expect(existsSync(inArea(spec, 'app', 'deepest'))).toBe(false);
    });

    describe('and what it names', () => {
      const content = (signature: Buffer) =>
        JSON.stringify({
          objstoreArtifacts: [put('c', 'C')],
          objstoreArtifactSignatures: [{ ...put('c.sig', signature), artifactFilename: 'c' }],
        });
      const run = (text: string) =>
        launch({
          objstoreArtifacts: [listOf('one.json', text)],
          objstoreArtifactSignatures: [{ ...put('one.sig', signatureOf(text)), artifactFilename: 'one.json' }],
        });

      test('have good signatures', async () => {
        await start({ failOnArtifactWithNoMatchingSignature: true });
        await finished(await run(content(signatureOf('C'))));
      });

      test.each([
        { why: 'bad', text: () => content(signatureOf('other')), says: 'c: its signature is not good' },
        {
          why: 'none',
          text: () => JSON.stringify({ objstoreArtifacts: [put('c', 'C')] }),
          says: 'c: has no signature',
        },
      ])('fail the task when those are $why', async ({ text, says }) => {
        await start({ failOnArtifactWithNoMatchingSignature: true });
        expect(await failure(await run(text()))).toContain(says);
      });

      test('do not come out of a signature', async () => {
        await start({ failOnArtifactWithNoMatchingSignature: true });
        const list = JSON.stringify({ embeddedArtifacts: [embedded('x', 'x')] });
        const signature = { ...put('c.sig', list, { isArtifactList: true }), artifactFilename: 'nothing' };
        const spec = await finished(await launch({ objstoreArtifactSignatures: [signature] }));
        expect(existsSync(inArea(spec, 'app', 'x'))).toBe(false);
      });
    });

    test.each([
      { why: 'is no JSON', content: 'x', says: 'one.json: is no list of artifacts: ' },
      { why: 'is something else', content: [1], says: 'one.json: is no list of artifacts: ' },
      {
        why: 'leads out of the sandbox',
        content: { embeddedArtifacts: [{ filename: '../../x', content: [] }] },
        says: "embeddedArtifacts.0.filename must be a relative path without '..'",
      },
      {
        why: 'asks for files of the machine',
        content: { externalArtifacts: [{ filename: 'x', url: '/etc/shadow' }] },
        says: 'cluster.local.allowedArtifactPaths',
      },
      {
        why: 'names too many',
        content: { externalArtifacts: Array.from({ length: 1_001 }, () => ({ filename: 'x', url: 'http://h/x' })) },
        says: 'one.json: externalArtifacts may be 1000 at most, together with',
      },
    ])('that $why fails the task', async ({ content, says }) => {
      await start();
      expect(await failure(await launch({ objstoreArtifacts: [listOf('one.json', content)] }))).toContain(says);
    });

    test('that is not there fails the task', async () => {
      await start();
      const missing = { ...listOf('one.json', {}), objstoreObjectKey: 'apps/nothing' };
      expect(await failure(await launch({ objstoreArtifacts: [missing] }))).toContain(
        'one.json: there is no such object',
      );
    });
  });

  test('a bomb out of the cache ends the task, with the reason and what unpacked', async () => {
    await start({ maxTaskArtifactMegabytes: 24 });
    const bomb = gzipSync(tarOf([{ name: 'bomb', content: ' '.repeat(60 << 20) }]));
    const artifact = put('bomb.tar.gz', bomb, { md5sum: md5(bomb) });
    expect(await failure(await launch({ objstoreArtifacts: [artifact] }))).toBe(
      'The files of the task are larger than 24 MB (bomb.tar.gz)',
    );
    const small = await launch({ objstoreArtifacts: [artifact] }, 'true', { diskMb: 3 });
    expect(await failure(small)).toBe('The files of the task are larger than 3 MB (bomb.tar.gz)');
    const reasons = cluster.seen.updates.filter(({ state }) => state === 'TASK_FAILED').map(({ reason }) => reason);
    expect(reasons).toEqual(['REASON_CONTAINER_LAUNCH_FAILED', 'REASON_CONTAINER_LIMITATION_DISK']);
  });
});
