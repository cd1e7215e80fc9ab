import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { namesOfBucket, namesOfKey } from '../../core/logs/index.js';
import { Archive, ArchiveFull, boundsOf } from './archive.js';
import { Throttle } from './throttle.js';

const day = 86_400_000;
const now = Date.now();
const signal = new AbortController().signal;

let directory: ReturnType<typeof tempFolder>;
beforeEach(() => (directory = tempFolder()));
afterEach(() => directory.remove());

const root = () => join(directory.path, 'archive');
const openArchive = (bounds = { keepDays: 30, maxMegabytes: 1 }, machine: { reservedDiskMb?: number } = {}) =>
  Archive.open({ root: root() }, boundsOf(bounds, { reservedDiskMb: 0, ...machine }), new Throttle(1e9));
const pathOf = (key: string) => join(root(), ...namesOfBucket('logs'), ...namesOfKey(key));

async function put(archive: Archive, key: string, content: string | Buffer, at?: number): Promise<void> {
  const path = join(directory.path, 'source');
  writeFileSync(path, content);
  const source = await open(path);
  try {
    await archive.put(source, Buffer.byteLength(content), { bucket: 'logs', key });
  } finally {
    await source.close();
  }
  if (at !== undefined) utimesSync(pathOf(key), at / 1_000, at / 1_000);
}
const keys = () =>
  readdirSync(root(), { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();

test('what is older than it may be goes, and nothing that is younger, whatever its key and its order', async () => {
  const archive = await openArchive();
  const ages = [0, 1, 29, 29.99, 30.01, 31, 365];
  for (const [index, age] of ages.toReversed().entries())
    await put(archive, `web/${index % 2 === 0 ? 'a/b/' : ''}${age}`, 'x', now - age * day);
  await archive.sweep(now, signal);
  expect(keys()).toEqual(['0', '1', '29', '29.99']);
  expect([archive.objects, archive.removed]).toEqual([4, 3]);
  await archive.sweep(now, signal);
  expect([keys().length, archive.removed]).toEqual([4, 3]);
});

test('of what is too much the oldest goes, by the time it was stored, and no more than makes room', async () => {
  const archive = await openArchive();
  const content = Buffer.alloc(100_000, 'x');
  for (const age of [3, 1, 9, 5, 7, 2, 8, 4, 6, 0]) await put(archive, `web/${age}`, content, now - age * 3_600_000);
  await put(archive, 'web/newest', content);
  // For the new one, and the twentieth part of all that there may be: two of them.
  expect(keys()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', 'newest']);
});

test('on a disk without room nothing goes for what would not fit all the same', async () => {
  await put(await openArchive(), 'web/kept', 'x');
  const full = await openArchive(undefined, { reservedDiskMb: 1e12 });
  await full.sweep(now, signal);
  await expect(put(full, 'web/new', 'x')).rejects.toThrow(ArchiveFull);
  expect(keys()).toEqual(['kept']);
});

test('the same content under the same key is there once, and another one takes no place of it', async () => {
  const archive = await openArchive();
  const content = Buffer.alloc(600_000, 'x');
  await put(archive, 'web/log', content);
  await put(archive, 'web/log', content);
  expect([archive.objects, archive.bytes]).toEqual([1, 600_000]);
  const other = Buffer.from(content);
  other[599_999] = 0;
  for (const different of [other, content.subarray(1), 'y'])
    await expect(put(archive, 'web/log', different)).rejects.toThrow('another object has the key');
  expect(readFileSync(pathOf('web/log')).equals(content)).toBe(true);
});

test('what was not whole when the agent ended is gone at its next start', async () => {
  await put(await openArchive(), 'web/log', 'x');
  writeFileSync(join(root(), '.new', 'half'), 'x');
  await openArchive();
  expect(keys()).toEqual(['log']);
});
