import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import type { ObjstoreUploaderFile } from '../../core/model/deploy.js';
import type { LaunchSpec, LogUploads } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import { ensureFolder, writeDurably } from '../files.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import { fileNameOf } from '../tasks/task-folder.js';
import { isBelow } from '../wire/unsupported.js';

/** What the agent writes for programs beside it: for one that follows logs, and for one that uploads them. */

type Writing = Pick<AgentContext, 'folder' | 'settings' | 'log'>;

/** Which files are to be uploaded. The one who does it removes the record when `finished` and nothing is left. */
interface UploadRecord {
  directory: string;
  fileGlob: string;
  objstoreBucket: string;
  objstoreKeyFormat: string;
  /** No more files will appear. */
  finished: boolean;
  uploadImmediately: boolean;
  checkSubdirectories: boolean;
  storageClass?: string;
  applyStorageClassIfOverBytes?: number;
}

export const uploadRecordsOf = ({ folder, settings }: Pick<Writing, 'folder' | 'settings'>): string =>
  settings.uploadRecordsDirectory ?? folder.uploadRecords;
const ending = '.objstore.json';

/** Written when the task begins, and again, finished, when no more files of it will appear. */
export async function writeRecords(
  writing: Writing,
  task: { spec: LaunchSpec; sandbox: Sandbox },
  finished: boolean,
): Promise<void> {
  await writeTailRecord(writing, task, finished);
  const { uploads } = task.spec;
  if (!uploads || !task.sandbox.executor) return;
  const records = uploadRecords(writing, task.spec, { uploads, area: task.sandbox.executor.folder, finished });
  const folder = uploadRecordsOf(writing);
  if (records.size > 0) await ensureFolder(folder, 0o700);
  for (const [hint, record] of records) {
    const name = `${fileNameOf(task.spec.taskId)}-${encodeURIComponent(hint)}${ending}`;
    await writeDurably(join(folder, name), `${JSON.stringify(record)}\n`);
  }
}

/** For the program that follows the lines of logs which have a tag. */
async function writeTailRecord(
  { folder, settings }: Writing,
  { spec: { executorData }, sandbox: { executor } }: { spec: LaunchSpec; sandbox: Sandbox },
  finished: boolean,
): Promise<void> {
  if (!executor || executorData?.loggingTag === undefined) return;
  const place = settings.logWatcherDirectory ?? folder.logWatcher;
  const filename = executor.serviceLog;
  const name = `${createHash('sha256').update(filename).digest('hex')}.tail.json`;
  const { loggingTag: tag, loggingExtraFields: extraFields = {} } = executorData;
  await ensureFolder(place, 0o700);
  await writeDurably(join(place, name), `${JSON.stringify({ filename, tag, extraFields, finished })}\n`);
}

/** By hint. */
function uploadRecords(
  { log }: Writing,
  { taskId, executorData }: LaunchSpec,
  { uploads, area, finished }: { uploads: LogUploads; area: string; finished: boolean },
): Map<string, UploadRecord> {
  const records = new Map<string, UploadRecord>();
  const add = (hint: string, directory: string, fileGlob: string, file: ObjstoreUploaderFile = {}) => {
    const objstoreBucket = file.objstoreUploaderBucket ?? uploads.bucket;
    const objstoreKeyFormat = file.objstoreUploaderKeyPattern ?? uploads.keyPattern;
    if (objstoreBucket === undefined || objstoreKeyFormat === undefined)
      return log.warn(`Task ${taskId}: no bucket is known for ${fileGlob}, it is not uploaded`);
    records.set(hint, {
      directory,
      fileGlob,
      objstoreBucket,
      objstoreKeyFormat,
      finished,
      uploadImmediately: finished,
      checkSubdirectories: file.checkSubdirectories ?? false,
      storageClass: file.objstoreStorageClass ?? uploads.storageClass,
      applyStorageClassIfOverBytes: file.applyObjstoreStorageClassAfterBytes ?? uploads.applyStorageClassAfterBytes,
    });
  };
  const ofServiceLog = `${serviceLog}*.[gb]z*`;
  for (const [index, file] of uploads.files.entries()) {
    const { filename = '', directory = filename === serviceLog ? 'logs' : '' } = file;
    const place = normalize(join(area, directory));
    if (filename === '' || filename.includes('/') || (place !== area && !isBelow(place, area))) {
      log.warn(`Task ${taskId}: '${join(directory, filename)}' is not uploaded, it is no file of the task's folder`);
      continue;
    }
    const glob = filename.includes('*') ? filename : `${filename}*.[gb]z*`;
    add(file.objstoreUploaderFilenameHint ?? `file${index + 1}`, place, glob, file);
  }
  if (![...records.values()].some(({ fileGlob }) => fileGlob === ofServiceLog))
    add('default', join(area, 'logs'), ofServiceLog);
  if (finished && executorData?.skipLogrotateAndCompress) add('unrotated', area, serviceLog);
  return records;
}

const serviceLog = 'service.log';

/** Upload records of a task that are left, by its file name: something of its files is still to be uploaded. */
async function recordsOf(writing: Pick<Writing, 'folder' | 'settings'>, name: string): Promise<string[]> {
  const place = uploadRecordsOf(writing);
  const names = await readdir(place).catch(() => []);
  return names.filter((file) => file.startsWith(`${name}-`) && file.endsWith(ending)).map((file) => join(place, file));
}

export const hasUploadsLeft = async (writing: Pick<Writing, 'folder' | 'settings'>, name: string): Promise<boolean> =>
  (await recordsOf(writing, name)).length > 0;

/** Its files have gone. */
export async function removeRecords(writing: Pick<Writing, 'folder' | 'settings'>, name: string): Promise<void> {
  for (const path of await recordsOf(writing, name)) await rm(path, { force: true });
}
