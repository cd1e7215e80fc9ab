import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { EpochOver, Epochs } from './epochs.js';

let directory: ReturnType<typeof tempFolder>;
let file: string;
beforeEach(() => {
  directory = tempFolder();
  file = join(directory.path, 'epoch');
});
afterEach(() => directory.remove());

test('the highest is kept on disk, and lower ones are over', async () => {
  const epochs = await Epochs.load(file);
  await epochs.admit(3);
  await epochs.admit(3);
  await expect(epochs.admit(2)).rejects.toThrow(EpochOver);
  expect((await Epochs.load(file)).highest).toBe(3);
});

test('a lower one is refused from the moment a higher one is seen, not only when that is on disk', async () => {
  const epochs = await Epochs.load(file);
  await epochs.admit(1);
  const higher = epochs.admit(2);
  expect(() => epochs.require(1)).toThrow('Epoch 1 is over: 2 has been seen');
  await higher;
});

test('a call that waits while a higher one comes is refused, and the disk has the higher one', async () => {
  const epochs = await Epochs.load(file);
  const results = await Promise.allSettled([epochs.admit(5), epochs.admit(9)]);
  expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled']);
  expect((await Epochs.load(file)).highest).toBe(9);
});

test('one that could not be written is written by the next call', async () => {
  const epochs = await Epochs.load(join(directory.path, 'sub', 'epoch'));
  await expect(epochs.admit(4)).rejects.toThrow('ENOENT');
  const { mkdirSync } = await import('node:fs');
  mkdirSync(join(directory.path, 'sub'));
  await epochs.admit(4);
  expect((await Epochs.load(join(directory.path, 'sub', 'epoch'))).highest).toBe(4);
  rmSync(join(directory.path, 'sub'), { recursive: true });
});
