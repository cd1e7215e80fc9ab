import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testLog } from '../../../test/support/agent-cluster.js';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import type { ExecutorData, ObjstoreUploaderFile } from '../../core/model/deploy.js';
import { AgentDirectory } from '../state/agent-directory.js';
import { sandboxOfSpec } from '../sandbox/sandbox-layout.js';
import { readLocalClusterSettings } from '../settings.js';
import { hasUploadsLeft, removeRecords, writeRecords } from './records.js';

let place: ReturnType<typeof tempFolder>;
beforeEach(() => (place = tempFolder()));
afterEach(() => place.remove());

async function write(
  files: ObjstoreUploaderFile[],
  data: Partial<ExecutorData> = {},
  finished = true,
  bucket: string | undefined = 'main',
) {
  const [watched, uploads] = [join(place.path, 'watched'), join(place.path, 'uploads')];
  const writing = {
    directory: await AgentDirectory.open(join(place.path, 'agent')),
    settings: readLocalClusterSettings({ logWatcherDirectory: watched, uploadRecordsDirectory: uploads }),
    log: testLog(),
  };
  const executorData = { cmd: 'x', ...data };
  const spec = launchSpec({
    taskId: 't',
    executorData,
    uploads: { files, bucket: bucket || undefined, keyPattern: 'web/%filename' },
  });
  const sandbox = sandboxOfSpec(writing.directory, spec);
  await writeRecords(writing, { spec, sandbox }, finished);
  const read = (directory: string) =>
    Object.fromEntries(
      namesIn(directory).map((name) => [name, JSON.parse(readFileSync(join(directory, name), 'utf8')) as object]),
    );
  return {
    writing,
    area: sandbox.executor!.directory,
    uploads: read(uploads),
    watched: read(watched),
    log: writing.log,
  };
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).toSorted();
  } catch {
    return [];
  }
}

test('a log with a tag has a record for who follows it', async () => {
  const { watched, area } = await write([], { loggingTag: 'web', loggingExtraFields: { team: 'a' } }, false);
  const [[name, record]] = Object.entries(watched) as [[string, object]];
  expect(name).toMatch(/^[0-9a-f]{64}\.tail\.json$/);
  expect(record).toEqual({
    filename: `${area}/service.log`,
    tag: 'web',
    extraFields: { team: 'a' },
    finished: false,
  });
  expect((await write([], { loggingTag: 'web' })).watched[name]).toMatchObject({ finished: true });
  place.remove();
  expect((await write([])).watched).toEqual({});
});

test('each file to upload has a record', async () => {
  const { uploads, area, writing } = await write([
    { filename: 'service.log' },
    { filename: 'gc*.txt', directory: 'app', objstoreUploaderFilenameHint: 'gc', objstoreUploaderBucket: 'other' },
    { filename: 'x.log', objstoreUploaderKeyPattern: 'own/%guid', objstoreStorageClass: 'COLD' },
  ]);
  const sandbox = dirname(area);
  const own = { task: 't', sandbox };
  const common = { finished: true, uploadImmediately: true, checkSubdirectories: false, keepsFiles: false, ...own };
  const usual = { ...common, objstoreBucket: 'main', objstoreKeyFormat: 'web/%filename' };
  expect(uploads).toEqual({
    't-file1.objstore.json': {
      ...usual,
      directory: `${area}/logs`,
      fileGlob: 'service.log*.[gb]z*',
      onFinishGlob: 'service.log-[0-9]*',
    },
    't-gc.objstore.json': { ...usual, directory: `${area}/app`, fileGlob: 'gc*.txt', objstoreBucket: 'other' },
    't-file3.objstore.json': {
      ...usual,
      directory: area,
      fileGlob: 'x.log*.[gb]z*',
      objstoreKeyFormat: 'own/%guid',
      storageClass: 'COLD',
    },
  });
  expect(await hasUploadsLeft(writing, 't')).toBe(true);
  await removeRecords(writing, 't');
  expect(await hasUploadsLeft(writing, 't')).toBe(false);
});

test('the service log has one in any case, and its raw file where it is not rotated', async () => {
  const { uploads, area } = await write([], { skipLogrotateAndCompress: true });
  expect(Object.keys(uploads)).toEqual(['t-default.objstore.json', 't-unrotated.objstore.json']);
  expect(uploads['t-unrotated.objstore.json']).toMatchObject({
    directory: area,
    fileGlob: 'service.log',
    keepsFiles: true,
  });
  place.remove();
  expect(Object.keys((await write([], { skipLogrotateAndCompress: true }, false)).uploads)).toHaveLength(1);
});

test('each has a record of its own, whatever callers call it', async () => {
  const { uploads } = await write([
    { filename: 'a', objstoreUploaderFilenameHint: 'same' },
    { filename: 'b', objstoreUploaderFilenameHint: 'same' },
    { filename: 'c', objstoreUploaderFilenameHint: 'default' },
    { filename: 'd', objstoreUploaderFilenameHint: '../../x\ud800\n' },
    { filename: 'e', objstoreUploaderFilenameHint: 'é'.repeat(2_000) },
  ]);
  const globs = Object.entries(uploads as Record<string, { fileGlob: string }>).map(([name, record]) => [
    name.replace('.objstore.json', ''),
    record.fileGlob,
  ]);
  expect(Object.fromEntries(globs)).toEqual({
    't-same': 'a*.[gb]z*',
    't-same-2': 'b*.[gb]z*',
    't-default': 'c*.[gb]z*',
    't-default-2': 'service.log*.[gb]z*',
    't-.._.._x__': 'd*.[gb]z*',
    [`t-${'_'.repeat(60)}`]: 'e*.[gb]z*',
  });
});

test('a file for which no bucket is known has none, and a line says so', async () => {
  const { uploads, log } = await write(
    [{ filename: 'a' }, { filename: 'b', objstoreUploaderBucket: 'own' }],
    {},
    true,
    '',
  );
  expect(Object.keys(uploads)).toEqual(['t-file2.objstore.json']);
  expect(log.lines).toEqual([
    'Task t: no bucket is set for a*.[gb]z*; not uploaded',
    'Task t: no bucket is set for service.log*.[gb]z*; not uploaded',
  ]);
});

test.each([{ directory: '../..' }, { directory: '/etc' }, { filename: '../x' }])(
  'no file outside of the folder of the task is uploaded: %j',
  async (file) => {
    const { uploads, log } = await write([{ filename: 'x', ...file }]);
    const outside = Object.values(uploads as Record<string, { directory: string }>).filter(
      ({ directory }) => !directory.includes('/sandboxes/t/t'),
    );
    expect(outside).toEqual([]);
    if (file.directory !== '/etc') expect(log.lines).toHaveLength(1);
  },
);

test('output of programs around the main one is uploaded as that of the main one', async () => {
  const writing = {
    directory: await AgentDirectory.open(join(place.path, 'agent')),
    settings: readLocalClusterSettings({ uploadRecordsDirectory: join(place.path, 'uploads') }),
    log: testLog(),
  };
  const step = {
    name: 'migrate',
    command: { shell: true, value: 'true', arguments: [] },
    environment: {},
    timeoutMillis: 1,
  };
  const spec = launchSpec({
    taskId: 't',
    programs: { init: [step], sidecars: [], post: [] },
    uploads: { files: [], bucket: 'main', keyPattern: 'web/%filename' },
  });
  const globs = async (finished: boolean) => {
    await writeRecords(writing, { spec, sandbox: sandboxOfSpec(writing.directory, spec) }, finished);
    return namesIn(join(place.path, 'uploads')).map((name) => {
      const { fileGlob } = JSON.parse(readFileSync(join(place.path, 'uploads', name), 'utf8')) as { fileGlob: string };
      return fileGlob;
    });
  };
  expect(await globs(false)).toEqual(['std*-[0-9]*.[gb]z*', '*.std*-[0-9]*.[gb]z*']);
  expect((await globs(true)).toSorted()).toEqual([
    '*.std*-[0-9]*',
    'migrate.stderr',
    'migrate.stdout',
    'std*-[0-9]*',
    'stderr',
    'stdout',
  ]);
});

test('output that the agent writes itself is uploaded from where it lies, and further files from the area of the task', async () => {
  const writing = {
    directory: await AgentDirectory.open(join(place.path, 'agent')),
    settings: readLocalClusterSettings({ uploadRecordsDirectory: join(place.path, 'uploads') }),
    log: testLog(),
  };
  const uploads = {
    files: [{ filename: 'stdout', directory: 'logs' }, { filename: 'gc.log' }],
    bucket: 'main',
    keyPattern: '%filename',
  };
  const sandbox = { root: '/pod/sandbox', output: '/pod/logs', area: '/pod/sandbox/area', seenAs: '/mnt/sandbox' };
  await writeRecords(writing, { spec: { taskId: 't', uploads }, sandbox }, true);
  const records = namesIn(join(place.path, 'uploads')).map((name) => {
    const record = JSON.parse(readFileSync(join(place.path, 'uploads', name), 'utf8')) as Record<string, string>;
    return [record['fileGlob'], record['directory'], record['sandbox'], record['seenAs']];
  });
  expect(records.toSorted()).toEqual([
    ['gc.log*.[gb]z*', '/pod/sandbox/area', '/pod/sandbox', '/mnt/sandbox'],
    ['std*-[0-9]*', '/pod/logs/logs', '/pod/logs', undefined],
    ['stderr', '/pod/logs', '/pod/logs', undefined],
    ['stdout*.[gb]z*', '/pod/logs/logs', '/pod/logs', undefined],
    ['stdout', '/pod/logs', '/pod/logs', undefined],
  ]);
  expect(await hasUploadsLeft(writing, 't')).toBe(true);
  expect(await hasUploadsLeft(writing, 'sandbox')).toBe(false);
});
