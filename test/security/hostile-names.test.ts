import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentDirectory } from '../../src/agent/state/agent-directory.js';
import { Cleanup } from '../../src/agent/upkeep/cleanup.js';
import { Removals } from '../../src/agent/upkeep/removals.js';
import { diskUse } from '../../src/agent/sandbox/disk-use.js';
import { removeTree } from '../../src/agent/sandbox/remove-tree.js';
import { SandboxFiles } from '../../src/agent/sandbox/sandbox-files.js';
import { readLocalClusterSettings } from '../../src/agent/settings.js';
import { Tombstones } from '../../src/agent/state/tombstones.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster, testLog } from '../support/agent-cluster.js';
import { tarOf } from '../support/archives.js';
import { spawnNode } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/*
 * What tasks call their files, how they nest and close them, and how many there are: their disk is counted and freed, and their
 * files are told and uploaded, all the same.
 */
const isRoot = userInfo().uid === 0;
const user = isRoot ? 'nobody' : undefined;
const hour = 3600_000;
const python = (lines: string): string => `python3 - <<'END'\n${lines}\nEND\n`;
const waiting = 'while :; do sleep 1; done';
const box = tempFolder();
afterAll(() => box.remove());

let count = 0;

/** A folder with what a script makes in it. */
function made(script: string): string {
  const root = join(box.path, `box${++count}`);
  mkdirSync(root);
  execFileSync('/bin/bash', ['-c', script], { cwd: root });
  return root;
}

const odd = {
  'of bytes that are no text': `printf x >$'\\xfe\\x80.bin'; printf x >$'caf\\xe9'; mkdir $'\\xc3'; printf x >$'\\xc3/\\xa9'`,
  'with lines and signs of terminals': `printf x >$'a\\nb'; printf x >$'\\x1b[2J'; mkdir -- $'-rf *\\n'; printf x >$'-rf *\\n/\\n'`,
  'as long as can be': python(`import os
for i in range(12):
  name = bytes([0xf0 + i % 4]) * 255
  os.mkdir(name); os.chdir(name)
open(b"\\xff" * 255, "w").write("x")`),
  'of a tree of 2,000 levels': python(`import os
for i in range(2000):
  os.mkdir(b"\\xfb"); os.chdir(b"\\xfb")
open("f", "w").write("x")`),
  'of pipes, sockets and links': python(`import os, socket
os.mkfifo(b"\\xf1"); os.symlink(b"\\xf2", b"\\xf3"); os.symlink("/", "root")
socket.socket(socket.AF_UNIX).bind(b"\\xf4"); os.link(b"\\xf1", b"\\xf5")`),
  'of folders that are closed to their owner': `mkdir -p $'a\\xff/b'; printf x >$'a\\xff/b/c'; chmod 000 $'a\\xff/b' $'a\\xff'`,
};

test.each(Object.entries(odd))('files %s are removed', async (_what, script) => {
  const root = made(script);
  expect(await removeTree(root, Infinity)).toBeDefined();
  expect(existsSync(root)).toBe(false);
});

test('what is removed is what the disk has back: a file with another name stays', async () => {
  const other = join(box.path, 'other');
  const root = made(
    `head -c 100000 /dev/urandom >$'a\\xff'; head -c 100000 /dev/urandom >b; ln b ${other}; ln $'a\\xff' c`,
  );
  const bytes = (await removeTree(root))!.bytes;
  expect(bytes).toBeGreaterThanOrEqual(100_000);
  expect(bytes).toBeLessThan(150_000);
});

/** True if the file system of the tests lets root make a file that cannot be changed. */
const canFix = ((): boolean => {
  try {
    const root = made('touch f; chattr +i f');
    execFileSync('chattr', ['-i', join(root, 'f')]);
    return isRoot;
  } catch {
    console.log(
      'No file can be made immutable here: removals that cannot end are tried with mounts and time limits only',
    );
    return false;
  }
})();

const release = (root: string) => execFileSync('chattr', ['-R', '-i', root], { stdio: 'ignore' });
const stuckScript = `mkdir -p a/fixed/in; touch a/fixed/in/f; head -c 1000000 /dev/zero >a/large; chattr +i a/fixed/in/f a/fixed/in`;

test.runIf(canFix)('a removal that cannot end removes all else, and says what is left in a few steps', async () => {
  const root = made(stuckScript);
  try {
    await expect(removeTree(root)).rejects.toThrow(/something is left of it, such as ".+": EPERM/);
    expect(execFileSync('find', [root, '-type', 'f'], { encoding: 'utf8' }).trim().split('/').at(-1)).toBe('f');
  } finally {
    release(root);
  }
  await removeTree(root);
  expect(existsSync(root)).toBe(false);
});

test('a removal ends when its time is over, and the next one goes on with it', async () => {
  const root = made('seq -f %g 500 | xargs touch');
  await expect(removeTree(root, 0)).rejects.toThrow('it takes too long');
  expect(readdirSync(root).length).toBeLessThan(500);
  await removeTree(root);
  expect(existsSync(root)).toBe(false);
});

test('a folder that is filled all the time ends a removal, not the agent', async () => {
  const root = made('true');
  const filler = spawnNode([
    '-e',
    `console.log('fills'); for (let i = 0; ; i++) try { fs.writeFileSync(Buffer.concat([Buffer.from(${JSON.stringify(root)} + '/' + i), Buffer.of(255)]), ''); } catch { fs.mkdirSync(${JSON.stringify(root)}, { recursive: true }); }`,
  ]);
  try {
    await filler.line('fills');
    await removeTree(root, 300).catch((cause: Error) => expect(cause.message).toMatch(/it takes too long|ENOTEMPTY/));
  } finally {
    await filler.kill();
  }
  await removeTree(root);
  expect(existsSync(root)).toBe(false);
});

test('files that are swapped for links and folders while they are measured and removed lead nowhere', async () => {
  const treasure = made('seq -f %g 200 | xargs touch');
  const root = made(`mkdir $'\\xff'`);
  const swapper = spawnNode([
    '-e',
    `const at = Buffer.from(${JSON.stringify(root)} + '/\\xff', 'latin1'); console.log('swaps');
     for (;;) { for (const make of [() => fs.symlinkSync(${JSON.stringify(treasure)}, at), () => fs.mkdirSync(at), () => fs.writeFileSync(at, '')])
       { try { fs.rmSync(at, { recursive: true, force: true }); make(); } catch {} } }`,
  ]);
  try {
    await swapper.line('swaps');
    for (let turn = 0; turn < 20; turn++) {
      for await (const { files } of diskUse(root)) expect(files).toBeLessThan(10);
      await removeTree(root, 100).catch(() => undefined);
      mkdirSync(root, { recursive: true });
    }
  } finally {
    await swapper.kill();
  }
  expect(readdirSync(treasure)).toHaveLength(200);
});

/** A tar archive of empty files, made from the header of one. */
function manyFiles(number: number): Buffer {
  const header = tarOf([{ name: 'f000000' }]).subarray(0, 512);
  const archive = Buffer.alloc((number + 2) * 512);
  const sumOf = (bytes: Uint8Array) => bytes.reduce((sum, byte) => sum + byte, 0);
  const rest = sumOf(header.fill(' ', 148, 156)) - sumOf(Buffer.from('000000'));
  for (let index = 0; index < number; index++) {
    const digits = String(index).padStart(6, '0');
    const sum = rest + sumOf(Buffer.from(digits));
    header.write(digits, 1);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    header.copy(archive, index * 512);
  }
  return gzipSync(archive, { level: 1 });
}

describe('a task', () => {
  let cluster: AgentCluster;
  let server: Server;
  let url = '';
  beforeAll(async () => {
    const many = manyFiles(150_000);
    const bytes = execFileSync('bash', ['--norc', '-c', `cd ${made(`printf odd >$'odd\\xff'`)}; tar -c $'odd\\xff'`]);
    server = createServer((request, response) => response.end(request.url === '/odd.tar' ? bytes : many));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    cluster = await AgentCluster.start({ settings: { maxArtifactFiles: 2_000 } });
  });
  afterAll(async () => {
    await cluster.close();
    server.close();
  });
  const run = (script: string, changes: Partial<LaunchSpec> = {}) =>
    cluster.launch(`exec bash <<'SCRIPT'\n${script}\nSCRIPT\n`, { user, ...changes });

  test.each([
    { how: 'with bytes that are no text', script: `for i in 1 2 3; do head -c 8000000 /dev/zero >$'\\xe9'$i; done` },
    {
      how: 'in folders whose names begin a character',
      script: `d=$'\\xf0\\x9f'; mkdir -p $d/$d/$d; head -c 24000000 /dev/zero >$d/$d/$d/$'\\x98\\x80'`,
    },
    {
      how: 'too far below to be told, and has removed what it holds open',
      script: `${python(`import os, time
for i in range(20):
  os.mkdir("n" * 255); os.chdir("n" * 255)
f = open("f", "wb"); os.unlink("f"); f.write(bytes(24000000)); f.flush()
while True: time.sleep(1)`)}`,
    },
  ])('that calls its files $how keeps to its disk', async ({ script }) => {
    const spec = await run(`${script}\n${waiting}`, { diskMb: 16 });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Disk limit exceeded: 16 MB');
  });

  test('has names of any bytes told so that each can be read', async () => {
    const names = [`$'a\\xff'`, `'a\\xFF'`, `$'new\\nline'`, `$'\\xc3\\xbc'`, `$'d\\xfe'/$'\\xc3'`];
    const spec = await run(
      `mkdir $'d\\xfe'; n=0; for name in ${names.join(' ')}; do n=$((n+1)); printf $n >"$name"; done`,
    );
    await cluster.untilEnd(spec);
    const sandbox = (await cluster.driver.sandbox(spec.taskId, 's1'))!;
    const listed = ((await sandbox.list('')) ?? []).map(({ name }) => name).filter((name) => !name.startsWith('std'));
    expect(listed.toSorted()).toEqual(['a\\x5CxFF', 'a\\xFF', 'd\\xFE', 'new\nline', 'ü'].toSorted());
    expect(((await sandbox.list('d\\xFE')) ?? []).map(({ name }) => name)).toEqual(['\\xC3']);
    const read = async (path: string) => (await sandbox.read(path, 0, 10))?.data.toString();
    const content = await Promise.all(['a\\xFF', 'a\\x5CxFF', 'new\nline', 'ü', 'd\\xFE/\\xC3'].map(read));
    expect(content).toEqual(['1', '2', '3', '4', '5']);
    expect(await new SandboxFiles(cluster.sandbox(spec)).read('\\x2E\\x2E/x', 0, 1)).toBeUndefined();
  });

  test('gets an archive with such names, and replaces nothing else by it', async () => {
    const spec = await run(`for f in *; do case $f in std*) ;; *) cat "$f";; esac; done`, {
      artifacts: [{ uri: `${url}/odd.tar` }],
    });
    await cluster.untilState(spec, 'TASK_FINISHED');
    expect(cluster.output(spec)).toContain('odd');
  });

  test('is refused an archive of 150,000 files by their number, before most of them are unpacked', async () => {
    const spec = await run('true', { artifacts: [{ uri: `${url}/many.tar.gz` }] });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toMatch(
      /^The files of the task are more than 2000, cluster\.local\.maxArtifactFiles/,
    );
    const found = execFileSync('find', [cluster.sandbox(spec), '-printf', '.'], {
      encoding: 'utf8',
      maxBuffer: 1 << 20,
    });
    expect(found.length).toBeLessThan(75_000);
  });

  test.runIf(canFix)('that cannot be removed is told once, tried less and less, and holds up no other', async () => {
    const stuck = await run(`mkdir keep; touch keep/$'\\xff'`);
    const other = await run(`touch $'\\xff'`);
    for (const spec of [stuck, other]) await cluster.untilEnd(spec);
    await waitFor('the ends', () =>
      [stuck, other].every(({ taskId }) => existsSync(join(cluster.root, 'ended', taskId))),
    );
    const fixed = cluster.sandbox(stuck, 'keep');
    execFileSync('chattr', ['+i', fixed]);
    const log = testLog();
    const removals = new Removals();
    const sweepAt = async (now: number) => {
      const directory = await AgentDirectory.open(cluster.root);
      const settings = readLocalClusterSettings({ sandboxRetentionMillis: 2 * hour });
      const stopping = new AbortController().signal;
      const cleanup = new Cleanup({ directory, settings, rotateProgram: [], stopping, removals, log, now: () => now });
      return cleanup.run(new Tombstones(directory.tombstones));
    };
    const start = Date.now() + 3 * hour;
    try {
      for (let minutes = 0; minutes < 60; minutes += 5)
        expect(await sweepAt(start + minutes * 60_000)).toMatchObject({ errorTasks: 1 });
      expect(existsSync(cluster.sandbox(other))).toBe(false);
      // At 0, 10 and 30 minutes.
      expect(removals.failures).toBe(3);
      expect(log.lines.filter((line) => line.includes('cannot be removed'))).toHaveLength(1);
    } finally {
      release(cluster.sandbox(stuck));
    }
    expect(await sweepAt(start + 10 * hour)).toMatchObject({ errorTasks: 0, removedSandboxes: 1 });
    expect(existsSync(cluster.sandbox(stuck))).toBe(false);
  });
});

test('files with such names are kept, each under a key of its own, and go from the sandbox', async () => {
  const cluster = await AgentCluster.start({
    settings: {
      uploadTarget: { kind: 'FOLDER', keepDays: 30, maxMegabytes: 100 },
      logrotateAdditionalFiles: ['app/*.log'],
      checkUploadsEverySeconds: 1,
    },
  });
  try {
    const cmd = `bash -c 'for n in a\\\\xff a\\\\xfe b\\\\nb; do printf 1 >"$(printf $n)".dump; printf 2 >"$(printf $n)".log; done; printf 3 >"$(printf %0250d 0)".log; printf 4 >"$(printf %0250d 0)".dump'`;
    const spec = await cluster.launch('', {
      executorData: { cmd },
      command: { shell: true, value: cmd, arguments: [] },
      uploads: {
        files: ['*.dump', '*.log*'].map((filename) => ({ filename, directory: 'app' })),
        bucket: 'logs',
        keyPattern: 'web/%filename',
      },
      user,
    });
    await cluster.untilEnd(spec);
    const records = () => readdirSync(join(cluster.root, 'uploads'));
    await waitFor('the end of all uploads', () => records().length === 0, { timeoutMillis: 20_000 });
    const kept = readdirSync(join(cluster.root, 'archive'), { recursive: true, encoding: 'utf8' });
    for (const name of ['a%5CxFF.dump', 'a%5CxFE.dump', 'b_b.dump', '0.dump'])
      expect(kept.filter((path) => path.endsWith(name))).toHaveLength(1);
    for (const name of [/a%5CxFF\.log-\d+\.gz$/, /a%5CxFE\.log-\d+\.gz$/, /b_b\.log-\d+\.gz$/])
      expect(kept.filter((path) => name.test(path))).toHaveLength(1);
    expect(readdirSync(cluster.sandbox(spec, spec.taskId, 'app')).filter((name) => name.includes('dump'))).toEqual([]);
  } finally {
    await cluster.close();
  }
});
