import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.js';
import { moveToResults } from '../agent/logs/results.js';
import type { Stream } from './cri-lines.js';
import { LogFollower } from './log-follower.js';

const longAgo = new Date(Date.now() - 60_000);

/** Simulates a kubelet and its runtime writing the output of a container, with an agent that follows it. */
class Scene {
  readonly directory: string;
  readonly logs: string;
  readonly warnings: string[] = [];
  readonly written = { stdout: '', stderr: '' };
  /** Called in the midst of each rotation of the output, before and after it is moved. */
  inRotation: (when: 'BEFORE' | 'AFTER') => void = () => undefined;
  readonly cursor: string;
  private rotations = 0;
  private clock = 0;
  private follower: LogFollower | undefined;

  constructor(
    root: string,
    private readonly mostBytes: number,
  ) {
    this.directory = join(root, 'kubelet');
    this.logs = join(root, 'logs');
    this.cursor = join(root, 'cursor');
    for (const each of [this.directory, this.logs, join(this.logs, 'logs')]) mkdirSync(each);
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
    await (await this.open()).take(this.directory);
  }

  async rotateOutput(stream: Stream): Promise<void> {
    await (await this.open()).rotate(stream);
  }

  async open(): Promise<LogFollower> {
    const log = {
      info: () => undefined,
      warn: (line: string) => void this.warnings.push(line),
      error: () => undefined,
    };
    const { logs, cursor, mostBytes } = this;
    const now = () => (1_000_000 + ++this.clock) * 1_000;
    const toResults = async (path: Stream) => {
      this.inRotation('BEFORE');
      const name = await moveToResults(
        { root: logs, path, into: 'logs', dateFormat: '%s', extension: '' },
        'gz',
        now(),
      );
      const isMoved = name !== undefined;
      this.inRotation('AFTER');
      return isMoved;
    };
    this.follower ??= await LogFollower.open({ logs, cursor }, { name: 'task t', mostBytes, log, toResults, now });
    return this.follower;
  }

  /** Copies what it has written, as a crash at this moment would leave it. */
  copyTo(place: string): void {
    cpSync(this.logs, join(place, 'logs'), { recursive: true });
    if (existsSync(this.cursor)) cpSync(this.cursor, join(place, 'cursor'));
  }

  /** It ends, and what it had written is as in a copy. */
  async crashTo(place: string): Promise<void> {
    await this.crash();
    rmSync(this.logs, { recursive: true });
    rmSync(this.cursor, { force: true });
    cpSync(join(place, 'logs'), this.logs, { recursive: true });
    if (existsSync(join(place, 'cursor'))) cpSync(join(place, 'cursor'), this.cursor);
  }

  /** What it notes next when a stream has been moved: there is no new file yet. */
  note(stream: Stream): void {
    const cursor = JSON.parse(readFileSync(this.cursor, 'utf8')) as { sizes: Record<Stream, number> };
    cursor.sizes[stream] = 0;
    writeFileSync(this.cursor, JSON.stringify(cursor));
  }

  results = (stream: Stream): string[] =>
    readdirSync(join(this.logs, 'logs'))
      .filter((name) => name.startsWith(`${stream}-`))
      .toSorted();

  /** All that there is of a stream: its results, and what follows them. */
  all = (stream: Stream): string =>
    this.results(stream)
      .map((name) => this.read(join('logs', name)))
      .join('') + this.read(stream);

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
    fc.constantFrom('rotate stdout', 'rotate stderr'),
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
          else if (each.startsWith('rotate ')) await made.rotateOutput(each.slice(7) as Stream);
          else await made.crash(each !== 'crash');
        }
        await made.take();
        expect({ stdout: made.all('stdout'), stderr: made.all('stderr') }).toEqual(made.written);
        expect(made.warnings).toEqual([]);
      } finally {
        await made.close();
        remove();
      }
    }),
    { numRuns: 60 },
  );
});

test('an output that is longer than it may be goes on in another file, and nothing of it is missing', async () => {
  const made = scene(2 ** 19);
  made.print('stderr', 'early');
  for (let line = 0; line < 4_000; line++) {
    made.print('stdout', `${line} ${'x'.repeat(990)}`);
    if (line % 900 === 899) made.rotate();
    if (line % 500 === 499) await made.take();
  }
  await made.take();
  expect(made.all('stdout') === made.written.stdout).toBe(true);
  const names = ['stdout', ...made.results('stdout').map((name) => join('logs', name))];
  expect(names.length).toBeGreaterThan(7);
  for (const name of names) expect(made.read(name).length).toBeLessThanOrEqual(2 ** 19);
  expect([made.read('stderr'), made.results('stderr')]).toEqual(['early\n', []]);
});

describe('an agent that ends in the midst of a rotation goes on, and each line is there once', () => {
  const rotations = {
    stdout: (made: Scene) => made.rotateOutput('stdout'),
    // By its size: a piece of the other stream is written, and not noted yet.
    stderr: async (made: Scene) => {
      made.print('stdout', 'beside');
      made.print('stderr', 'e'.repeat(3_000));
      made.print('stderr', 'f'.repeat(3_000));
      await made.take();
    },
  };
  const moments = ['before it is moved', 'when it is moved', 'when that is noted', 'when it is over'] as const;
  test.each((['stdout', 'stderr'] as const).flatMap((stream) => moments.map((moment) => ({ stream, moment }))))(
    'of $stream, $moment',
    async ({ stream, moment }) => {
      const made = scene(4_096);
      const copies = tempFolder();
      onTestFinished(copies.remove);
      const places = {
        BEFORE: join(copies.path, 'before'),
        AFTER: join(copies.path, 'after'),
        END: join(copies.path, 'end'),
      };
      made.print('stdout', 'one');
      made.print('stderr', 'early');
      await made.take();
      made.inRotation = (when) => made.copyTo(places[when]);
      await rotations[stream](made);
      made.inRotation = () => undefined;
      made.copyTo(places.END);
      const place = { [moments[0]]: places.BEFORE, [moments[3]]: places.END }[moment as string] ?? places.AFTER;
      await made.crashTo(place);
      if (moment === 'when that is noted') made.note(stream);
      made.print('stdout', 'two');
      made.print('stderr', 'late');
      await made.take();
      expect({ stdout: made.all('stdout'), stderr: made.all('stderr') }).toEqual(made.written);
      expect(made.warnings).toEqual([]);
    },
  );

  test('and where it could not be noted, nothing is written until it is', async () => {
    const made = scene();
    made.print('stdout', 'one, and more');
    await made.take();
    made.inRotation = (moment) => {
      if (moment === 'BEFORE') return;
      rmSync(made.cursor);
      mkdirSync(made.cursor);
    };
    await expect(made.rotateOutput('stdout')).rejects.toThrow('EISDIR');
    made.print('stdout', 'two');
    await expect(made.take()).rejects.toThrow('EISDIR');
    expect([made.read('stdout'), made.results('stdout').length]).toEqual(['', 1]);
    rmSync(made.cursor, { recursive: true });
    await made.take();
    expect(made.all('stdout')).toBe('one, and more\ntwo\n');
    await made.crash();
    made.print('stdout', 'three');
    await made.take();
    expect(made.all('stdout')).toBe('one, and more\ntwo\nthree\n');
  });
});

test('an empty output is not rotated, and since when there is one is known to the next agent', async () => {
  const made = scene();
  await made.rotateOutput('stdout');
  expect(made.results('stdout')).toEqual([]);
  made.print('stdout', 'one');
  await made.take();
  const began = (await made.open()).beganAt('stdout');
  await made.rotateOutput('stdout');
  const rotated = (await made.open()).beganAt('stdout');
  expect(rotated).toBeGreaterThan(began);
  await made.crash();
  expect((await made.open()).beganAt('stdout')).toBe(rotated);
});

test('all that there is is taken, however much it is, also of a file that was followed by another just now', async () => {
  const made = scene();
  for (let line = 0; line < 40; line++) made.print('stdout', 'x'.repeat(2 ** 20));
  made.rotate();
  utimesSync(`${made.current}.20261123-000001`, new Date(), new Date());
  made.print('stdout', 'last');
  const follower = await made.open();
  expect(await follower.takeAll(made.directory, 60_000)).toBe(true);
  expect(made.read('stdout') === made.written.stdout).toBe(true);
  made.print('stdout', 'more');
  expect(await follower.takeAll(made.directory, 0)).toBe(false);
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
  const [result = ''] = made.results('stdout');
  expect([made.read(join('logs', result)), made.read('stdout')]).toEqual(['one\n', 'one\ntwo\n']);
});

test('a link in the place of a file is not followed', async () => {
  const made = scene();
  rmSync(made.current);
  symlinkSync('/etc/passwd', made.current);
  for (let time = 0; time < 2; time++) await made.take();
  expect(made.read('stdout')).toBe('');
  expect(made.warnings).toEqual([expect.stringMatching(/^The output of task t cannot be taken: .*0\.log is a link$/)]);
});
