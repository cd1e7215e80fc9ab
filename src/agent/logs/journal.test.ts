import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { type Journal, JournalFile, partName, restName, settle } from './journal.js';

let directory: ReturnType<typeof tempFolder>;
beforeEach(() => {
  directory = tempFolder();
  mkdirSync(join(directory.path, 'logs'));
});
afterEach(() => directory.remove());

const at = (...path: string[]) => join(directory.path, ...path);
const content = (name: string) => readFileSync(at('logs', name), 'utf8');

/** As a program that is killed leaves it: its copy of "first second " is whole, unless `phase` says otherwise. */
async function interrupted(phase: Journal['phase'], live: string, partBytes = 0): Promise<string[]> {
  writeFileSync(at('service.log'), live);
  writeFileSync(at('logs', partName('r')), Buffer.concat([gzipSync('first '), Buffer.from('half')]));
  writeFileSync(at('logs', restName('r')), 'second ');
  const { ino } = statSync(at('service.log'));
  const journal = { pid: 1, startTime: '1', log: 'service.log', into: 'logs', name: 'r', extension: 'gz' };
  const file = await JournalFile.open(directory.path, 'logrotate.status');
  file.note({ ...journal, phase, ino, size: 13, partBytes });
  await file.close();
  expect(await settle(directory.path, 'logrotate.status')).toBe(true);
  expect(await settle(directory.path, 'logrotate.status')).toBe(false);
  return readdirSync(at('logs')).toSorted();
}

test('a copy that is not whole is dropped: the log has all of it', async () => {
  expect(await interrupted('COPYING', 'first second ')).toEqual([]);
});

test('a whole copy of a log that was not emptied yet is dropped', async () => {
  expect(await interrupted('COPIED', 'first second ')).toEqual([]);
});

test.each(['COPIED', 'EMPTIED'] as const)('a copy is kept when the log is empty, after %s', async (phase) => {
  const partBytes = gzipSync('first ').length;
  expect(await interrupted(phase, '', partBytes)).toEqual(['r.gz', 'r_1']);
  expect(content('r_1')).toBe('second ');
  expect(readFileSync(at('logs', 'r.gz'))).toEqual(gzipSync('first '));
});

test('after the log was emptied nothing is dropped, however long it has become again', async () => {
  expect(await interrupted('EMPTIED', 'x'.repeat(1_000))).toEqual(['r']);
  expect(content('r')).toBe('second ');
});

test('what cannot be read is no journal', async () => {
  writeFileSync(at('logrotate.status'), '{"rotating":{"name":"../x"}}');
  expect(await settle(directory.path, 'logrotate.status')).toBe(false);
  expect(await settle(directory.path, 'none')).toBe(false);
});
