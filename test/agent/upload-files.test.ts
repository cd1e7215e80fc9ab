import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { waitFor } from '../support/wait-for.js';

/* Whatever a task puts where its files are to be uploaded: its own plain files are stored, and nothing else is. */

const user = userInfo().uid === 0 ? 'nobody' : undefined;
const kinds = withoutObjectStore === undefined ? (['folder', 'bucket'] as const) : (['folder'] as const);

describe.each(kinds)('to a %s', (kind) => {
  let store: TestObjectStore | undefined;
  let cluster: AgentCluster;
  beforeAll(async () => {
    if (kind === 'bucket') store = await startObjectStore('logs');
  });
  afterAll(() => store?.close());
  afterEach(() => cluster.close());

  const start = async (settings: object = {}, limits: object = {}) => {
    const uploadTarget = store
      ? { kind: 'BUCKET', endpoint: store.url, region: 'us-east-1', bucketKeys: {}, ...store.keys }
      : { kind: 'FOLDER', keepDays: 30, maxMegabytes: 100, ...limits };
    cluster = await AgentCluster.start({ settings: { uploadTarget, checkUploadsEverySeconds: 1, ...settings } });
  };
  const uploadsTo = (folder: string, more: object = {}): Partial<LaunchSpec> => ({
    user,
    uploads: { files: [{ filename: 'dump*', ...more }], bucket: 'logs', keyPattern: `${folder}/%filename` },
  });
  /** By the end of the key, which is below the folder. */
  const stored = (folder: string): Record<string, string> => {
    if (store) {
      const found = store.list('logs').filter(({ key }) => key.startsWith(`${folder}/`));
      return Object.fromEntries(found.map(({ key, body }) => [key.slice(folder.length + 1), String(body)]));
    }
    const place = join(cluster.root, 'archive', 'logs', `${folder}+`);
    const names = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) =>
      statSync(join(place, name)).isFile(),
    );
    return Object.fromEntries(
      names.map((name) => [decodeURIComponent(name.replace(/%\/\+/g, '')), readFileSync(join(place, name), 'utf8')]),
    );
  };
  const records = () => readdirSync(join(cluster.root, 'uploads'));
  const untilNothingWaits = () =>
    waitFor('the end of all uploads', () => records().length === 0, { timeoutMillis: 60_000 });

  test('no links, pipes, sockets, folders, foreign or empty files are, and all of them stay', async () => {
    await start();
    const spec = await cluster.run(
      [
        'echo mine >dump-file',
        'ln -s /etc/passwd dump-link',
        'ln -s dump-file dump-own-link',
        'mkfifo dump-pipe',
        'mkdir dump-folder; echo x >dump-folder/dump-inner',
        ': >dump-empty',
        'ln -s / dump-root',
        'mkdir real; echo y >real/dump-y; ln -s real dump-real',
        "node -e 'require(`net`).createServer().listen(`dump-socket`, () => process.exit())'",
        'ln /etc/hostname dump-foreign 2>/dev/null; true',
      ].join('; '),
      uploadsTo('kinds'),
    );
    await untilNothingWaits();
    expect(stored('kinds')).toEqual({ 'dump-file': 'mine\n' });
    const left = readdirSync(cluster.sandbox(spec)).filter((name) => name.startsWith('dump'));
    expect(left).toEqual(expect.arrayContaining(['dump-empty', 'dump-folder', 'dump-link', 'dump-pipe', 'dump-root']));
    expect(left).not.toContain('dump-file');
  });

  test('with checkSubdirectories those of folders below are, not of folders that links lead to', async () => {
    await start();
    await cluster.run(
      'mkdir -p a/b; echo 1 >a/dump1; echo 2 >a/b/dump2; ln -s /etc c; mkdir x; echo 3 >x/other; ln -s ../.. a/up',
      uploadsTo('below', { checkSubdirectories: true }),
    );
    await untilNothingWaits();
    expect(stored('below')).toEqual({ dump1: '1\n', dump2: '2\n' });
  });

  const names = [
    'dump a b ',
    'dumpä é ü',
    'dump日本語😀',
    `dump'"\`$(x)`,
    'dump%guid%filename',
    'dump\\n\\\\',
    'dump?*[a]',
    'dump#&=+;,:@!~^|<>{}',
    'dump.tar.gz',
    'dump..',
    `dump${'x'.repeat(196)}`,
  ];
  test('names are kept, whatever is in them, but for what no list of keys can show', async () => {
    await start();
    const script = `node -e '
      const names = JSON.parse(Buffer.from(process.argv[1], "base64"));
      for (const name of names) require("fs").writeFileSync(name, "content of " + name);
    ' ${Buffer.from(JSON.stringify([...names, 'dump\nnew\tline'])).toString('base64')}`;
    await cluster.run(script, uploadsTo('names'));
    await untilNothingWaits();
    const found = stored('names');
    expect(Object.keys(found).toSorted()).toEqual([...names, 'dump_new_line'].toSorted());
    for (const name of names) expect(found[name]).toBe(`content of ${name}`);
    expect(found['dump_new_line']).toBe('content of dump\nnew\tline');
  });

  test('a file that changes while it is uploaded is stored again, and goes only when all of it is there', async () => {
    await start({ maxUploadMegabytesPerSecond: 1, checkForOpenFiles: false });
    const spec = await cluster.launch(
      'head -c 1500000 /dev/zero | tr "\\0" a >new; mv new dump1; until [ -e go ]; do sleep 0.05; done; echo end >>dump1; exec sleep 600',
      uploadsTo('changes'),
    );
    const file = (name: string) => cluster.sandbox(spec, name);
    // It takes a second and a half.
    await waitFor(
      'the upload',
      () => readdirSync(join(cluster.root, 'uploads')).some((name) => /uploading/.test(name)),
      {
        timeoutMillis: 20_000,
      },
    );
    writeFileSync(file('go'), '');
    await waitFor('its end', () => !readdirSync(cluster.sandbox(spec)).includes('dump1'), { timeoutMillis: 30_000 });
    const texts = Object.values(stored('changes'));
    expect(texts.some((text) => text.length === 1_500_004 && text.endsWith('aend\n'))).toBe(true);
  });

  test('a folder where a file was, and a file that has gone, keep nothing else from being stored', async () => {
    await start({ maxUploadMegabytesPerSecond: 0.5 });
    await cluster.run(
      'head -c 700000 /dev/zero >dump0; echo 1 >dump1; echo 2 >dump2; (sleep 1.2; rm dump1 dump2; mkdir dump1; echo x >dump1/dump) & sleep 1.3; echo 3 >dump3',
      { ...uploadsTo('gone'), successfulExitCodes: [0] },
    );
    await untilNothingWaits();
    expect(Object.keys(stored('gone')).filter((name) => name !== 'dump1' && name !== 'dump2')).toEqual([
      'dump0',
      'dump3',
    ]);
  });

  test('files that the task may not have removed are stored once, and hold up nothing', async () => {
    await start();
    const spec = await cluster.run(
      'mkdir logs; for i in $(seq 40); do echo $i >logs/dump$i; done; chmod 000 logs/dump*; chmod 555 logs',
      uploadsTo('sealed', { directory: 'logs' }),
    );
    await untilNothingWaits();
    const count = Object.keys(stored('sealed')).length;
    expect(count === 40 || count === 0).toBe(true);
    if (user) expect(readdirSync(cluster.sandbox(spec, 'logs'))).toEqual([]);
  });

  test('a file that several of the wanted ones name is stored once', async () => {
    await start();
    await cluster.run('for i in 1 2 3; do echo $i >dump$i; done', {
      user,
      uploads: {
        files: [{ filename: 'dump*' }, { filename: '*1' }, { filename: 'd*' }],
        bucket: 'logs',
        keyPattern: 'once/%guid-%filename',
      },
    });
    await untilNothingWaits();
    expect(Object.values(stored('once')).toSorted()).toEqual(['1\n', '2\n', '3\n']);
  });

  test('one that is larger than the settings allow is left out, said, and holds up nothing', async () => {
    await start({ maxUploadFileMegabytes: 5 });
    await cluster.run('truncate -s 1T dump-hole; echo x >dump1', uploadsTo('large'));
    await untilNothingWaits();
    expect(stored('large')).toEqual({ dump1: 'x\n' });
    expect(cluster.log.lines.join('\n')).toContain('1 files are too large, or not the task');
  });

  test('tasks with very many files take turns with others', async () => {
    await start({ maxUploadMegabytesPerSecond: 1 });
    const many = await cluster.launch(
      'until [ -e go ]; do sleep 0.05; done; for i in $(seq 60); do head -c 100000 /dev/zero >dump$i; done',
      uploadsTo('many'),
    );
    writeFileSync(cluster.sandbox(many, 'go'), '');
    await cluster.untilEnd(many);
    await cluster.run('echo x >dump1', uploadsTo('one'));
    await waitFor(
      'the other',
      () => {
        try {
          return stored('one')['dump1'] === 'x\n';
        } catch {
          return false;
        }
      },
      { timeoutMillis: 60_000 },
    );
    expect(records()).not.toEqual([]);
    await untilNothingWaits();
    expect(Object.keys(stored('many'))).toHaveLength(60);
  }, 120_000);

  test.runIf(kind === 'folder')('one that is larger than all that may be kept ends its waiting', async () => {
    await start({}, { maxMegabytes: 1 });
    await cluster.run('head -c 2000000 /dev/zero >dump1; echo x >dump2', uploadsTo('all'));
    await untilNothingWaits();
    expect(Object.keys(stored('all'))).toEqual(['dump2']);
  });
});
