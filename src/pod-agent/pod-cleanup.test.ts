import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.js';
import { Removals } from '../agent/upkeep/removals.js';
import { UploadCounts } from '../agent/uploads/upload-counts.js';
import { PodCleanup } from './pod-cleanup.js';
import type { PodContext, PodTask } from './pod-task.js';
import type { PodTasks } from './pod-tasks.js';

/** Tasks that ended long ago, each with a record of files to upload; a disk of which nothing may be in use. */
function nodeWith(...names: string[]) {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const uploadRecords = join(path, 'records');
  mkdirSync(uploadRecords);
  const rules = { finished: true, uploadImmediately: true, checkSubdirectories: false, keepsFiles: false };
  const place = {
    directory: path,
    sandbox: path,
    fileGlob: '*',
    objstoreBucket: 'logs',
    objstoreKeyFormat: '%filename',
  };
  for (const task of names)
    writeFileSync(join(uploadRecords, `${task}-file1.objstore.json`), JSON.stringify({ ...rules, ...place, task }));
  const uploads = new UploadCounts();
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const logs = { directory: { uploadRecords }, settings: { uploadTarget: { kind: 'BUCKET' } }, uploads };
  const settings = { root: path, sandboxDiskHighWaterPct: 0 };
  const context = { settings, logs, log, stopping: new AbortController().signal } as unknown as PodContext;
  const left = new Set(names);
  const all = () => [...left].map((id) => ({ id, path: join(path, id), endedAt: 0, areLogsFinished: true }) as PodTask);
  const tasks = { all, remove: async ({ id }: PodTask) => void left.delete(id) } as unknown as PodTasks;
  return { uploads, left, cleanup: new PodCleanup(context, tasks, new Removals()) };
}

test('a full disk takes the files of a task that the store refuses, and not those that wait for the store', async () => {
  const { uploads, left, cleanup } = nodeWith('refused', 'waits');
  uploads.noteRefused('refused-file1.objstore.json', true);
  await cleanup.makeRoom();
  expect([...left]).toEqual(['waits']);
  uploads.noteRefused('waits-file1.objstore.json', true);
  uploads.noteRefused('waits-file1.objstore.json', false);
  await cleanup.makeRoom();
  expect([...left]).toEqual(['waits']);
});
