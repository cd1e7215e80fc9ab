import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.js';
import type { Stream } from './cri-lines.js';
import { LogFollower } from './log-follower.js';

const longAgo = new Date(Date.now() - 60_000);

/** Simulates a kubelet and its runtime writing the output of a container, with an agent that follows it. */
class Scene {
  readonly directory: string;
  readonly logs: string;
  readonly warnings: string[] = [];
  readonly written = { stdout: '', stderr: '' };
  private readonly cursor: string;
  private rotations = 0;
  private follower: LogFollower | undefined;

  constructor(
    root: string,
    private readonly mostBytes: number,
  ) {
    this.directory = join(root, 'kubelet');
    this.logs = join(root, 'logs');
    this.cursor = join(root, 'cursor');
    for (const each of [this.directory, this.logs]) mkdirSync(each);
    writeFileSync(this.current, '');
  }

  get current(): string {
    return join(this.directory, '0.log');
  }

  print(stream: Stream, text: string, tag = 'F'): void {
    appendFileSync(
      this.current,
      `2026-11-23T14:28:${String(this.rotations).padStart(11, '0')}Z ${stream} ${tag} ${text}\n`,
    );
    this.written[stream] += text + (tag === 'F' ? '\n' : '');
  }

  rotate(): void {
    for (const name of readdirSync(this.directory).filter((name) => /-\d+$/.test(name))) {
      const path = join(this.directory, name);
      writeFileSync(`${path}.gz`, gzipSync(readFileSync(path)));
      rmSync(path);
    }
    const renamed = `${this.current}.20261123-${String(++this.rotations).padStart(6, '0')}`;
    renameSync(this.current, renamed);
    utimesSync(renamed, longAgo, longAgo);
    writeFileSync(this.current, '');
  }

  async take(): Promise<void> {
    const log = {
      info: () => undefined,
      warn: (line: string) => void this.warnings.push(line),
      error: () => undefined,
    };
    const { logs, cursor, mostBytes } = this;
    this.follower ??= await LogFollower.open({ logs, cursor }, { name: 'task t', mostBytes, log });
    await this.follower.take(this.directory);
  }

  /** It ends between two steps; `andForgets`: before it had written down how far it was. */
  async crash(andForgets = false): Promise<void> {
    const before = existsSync(this.cursor) ? readFileSync(this.cursor) : undefined;
    if (andForgets) await this.take();
    await this.follower?.close();
    this.follower = undefined;
    if (andForgets && before) writeFileSync(this.cursor, before);
  }

  read = (name: string): string =>
    existsSync(join(this.logs, name)) ? readFileSync(join(this.logs, name), 'utf8') : '';
  close = async (): Promise<void> => this.follower?.close();
}

function scene(mostBytes = 2 ** 40): Scene {
  const { path, remove } = tempFolder();
  const made = new Scene(path, mostBytes);
  onTestFinished(async () => {
    await made.close();
    remove();
  });
  return made;
}

test('whatever is rotated, compressed and taken in whatever order, each stream is there once', async () => {
  const step = fc.oneof(
    fc.record({
      stream: fc.constantFrom('stdout' as const, 'stderr' as const),
      text: fc.string({ unit: fc.constantFrom('a', 'ä', ' ', '\t'), maxLength: 40 }),
      tag: fc.constantFrom('P', 'F'),
    }),
    fc.constantFrom('rotate', 'rotate', 'take', 'crash', 'crash and forget'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const { path, remove } = tempFolder();
      const made = new Scene(path, 2 ** 40);
      try {
        for (const each of steps) {
          if (typeof each === 'object') made.print(each.stream, each.text, each.tag);
          else if (each === 'rotate') made.rotate();
          else if (each === 'take') await made.take();
          else await made.crash(each !== 'crash');
        }
        await made.take();
        expect({ stdout: made.read('stdout'), stderr: made.read('stderr') }).toEqual(made.written);
        expect(made.warnings).toEqual([]);
      } finally {
        await made.close();
        remove();
      }
    }),
    { numRuns: 60 },
  );
});

test('the newest output is kept, of each stream for itself', async () => {
  const made = scene(2 ** 20);
  made.print('stderr', 'early');
  for (let line = 0; line < 4_000; line++) {
    made.print('stdout', `${line} ${'x'.repeat(990)}`);
    if (line % 900 === 899) made.rotate();
    if (line % 500 === 499) await made.take();
  }
  await made.take();
  const kept = made.read('stdout.1') + made.read('stdout');
  expect(made.written.stdout.endsWith(kept)).toBe(true);
  expect(kept.length).toBeGreaterThan(2 ** 19);
  expect(kept.length).toBeLessThanOrEqual(2 ** 20);
  expect(made.read('stderr')).toBe('early\n');
});

test('an agent that ends while it begins a file anew goes on with the next one', async () => {
  const made = scene(2 ** 20);
  made.print('stdout', 'x'.repeat(400_000));
  await made.take();
  await made.crash();
  renameSync(join(made.logs, 'stdout'), join(made.logs, 'stdout.1'));
  made.print('stdout', 'next');
  await made.take();
  expect([made.read('stdout'), statSync(join(made.logs, 'stdout.1')).size]).toEqual(['next\n', 400_001]);
});

test('what the kubelet removed before it was read is said to be lost, and what follows is taken', async () => {
  const made = scene();
  made.print('stdout', 'taken');
  await made.take();
  await made.crash();
  made.print('stdout', 'lost');
  for (const text of ['kept compressed', 'kept', 'newest']) {
    made.rotate();
    made.print('stdout', text);
  }
  rmSync(`${made.current}.20261123-000001.gz`);
  await made.take();
  expect(made.read('stdout')).toBe('taken\nkept compressed\nkept\nnewest\n');
  expect(made.warnings).toEqual(['Some output of task t is lost: the kubelet removed it before it was read']);
});

test('a file that is being compressed is taken once, and one that is damaged does not hold up the others', async () => {
  const made = scene();
  made.print('stdout', 'one');
  made.rotate();
  made.print('stdout', 'two');
  const first = `${made.current}.20261123-000001`;
  writeFileSync(`${first}.gz`, gzipSync(readFileSync(first)));
  writeFileSync(`${first}.tmp`, 'half');
  await made.take();
  expect(made.read('stdout')).toBe('one\ntwo\n');
  made.rotate();
  made.rotate();
  writeFileSync(`${made.current}.20261123-000002.gz`, 'no archive');
  await made.crash();
  made.print('stdout', 'three');
  await made.take();
  expect(made.read('stdout')).toBe('one\ntwo\nthree\n');
});

test('a line of any length is taken as it comes, and of a container that was begun again the files follow', async () => {
  const made = scene();
  appendFileSync(made.current, '2026-11-23T14:28:11Z stdout F ');
  for (let part = 0; part < 5; part++) {
    appendFileSync(made.current, 'y'.repeat(300_000));
    await made.take();
    expect(made.read('stdout').length).toBe((part + 1) * 300_000);
  }
  appendFileSync(made.current, '\n');
  utimesSync(made.current, longAgo, longAgo);
  writeFileSync(join(made.directory, '1.log'), '2026-11-23T14:28:12Z stdout F again\n');
  await made.take();
  expect(made.read('stdout')).toBe(`${'y'.repeat(1_500_000)}\nagain\n`);
});

test('when it is not known any more how far it was, all that is there is taken again', async () => {
  const made = scene();
  made.print('stdout', 'one');
  await made.take();
  await made.crash();
  writeFileSync(join(made.logs, '../cursor'), '');
  made.print('stdout', 'two');
  await made.take();
  expect([made.read('stdout.1'), made.read('stdout')]).toEqual(['one\n', 'one\ntwo\n']);
});

test('a link in the place of a file is not followed', async () => {
  const made = scene();
  rmSync(made.current);
  symlinkSync('/etc/passwd', made.current);
  for (let time = 0; time < 2; time++) await made.take();
  expect(made.read('stdout')).toBe('');
  expect(made.warnings).toEqual([expect.stringMatching(/^The output of task t cannot be taken: .*0\.log is a link$/)]);
});
