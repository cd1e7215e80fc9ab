import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, join, normalize } from 'node:path';
import type { ObjstoreUploaderFile } from '../../core/model/deploy.js';
import type { LogUploads } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import type { LogSettings } from '../settings.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import { ensureFolder, writeDurably, writeWhole } from '../../platform/files.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import { fileNameOf } from '../state/task-directory.js';
import { isBelow } from '../../core/files/paths.js';
import { type LoggedLaunch, outputs } from './plan.js';
import { writeTailRecord } from './tail-record.js';
import { taskOf, UploadRecord } from './upload-record.js';

/* What the agent writes for programs beside it: for one that follows logs, and for one that uploads them. */

/** Context in which the logs of a task are maintained, by whatever agent. */
export interface LogContext extends RecordContext, Pick<AgentContext, 'now' | 'rotateProgram' | 'stopping'> {
  settings: LogSettings;
  /** Names of records of tasks that have ended, to be uploaded at once; undefined: the agent uploads nothing. */
  finishedUploads: Set<string> | undefined;
}

interface RecordContext extends Pick<AgentContext, 'log'> {
  directory: Pick<AgentDirectory, 'uploadRecords' | 'logWatcher'>;
  settings: Pick<LogSettings, 'uploadRecordsDirectory' | 'logWatcherDirectory' | 'logrotateCompressionSettings'>;
  /** Names of records of tasks that have ended, to be uploaded at once; undefined: the agent uploads nothing. */
  finishedUploads?: Set<string>;
}

/** Directory of the records. */
export const uploadRecordsOf = ({ directory, settings }: RecordPlace): string =>
  settings.uploadRecordsDirectory ?? directory.uploadRecords;
interface RecordPlace {
  directory: Pick<AgentDirectory, 'uploadRecords'>;
  settings: Pick<LogSettings, 'uploadRecordsDirectory'>;
}
export const recordEnding = '.objstore.json';

/** Written when the task begins, and again, finished, when no more files of it will appear. */
export async function writeRecords(
  writing: RecordContext,
  task: { spec: LoggedLaunch; sandbox: Sandbox },
  finished: boolean,
): Promise<void> {
  await writeTailRecord(writing, task, finished);
  const { uploads } = task.spec;
  if (!uploads) return;
  const records = uploadRecords(writing, task, { uploads, finished });
  const directory = uploadRecordsOf(writing);
  if (records.size > 0) await ensureFolder(directory, 0o700);
  for (const [hint, record] of records) {
    const name = `${fileNameOf(task.spec.taskId)}-${hint}${recordEnding}`;
    // An unfinished one is of a task that a power cut would end, too.
    await (finished ? writeDurably : writeWhole)(join(directory, name), `${JSON.stringify(record)}\n`);
    if (finished) writing.finishedUploads?.add(name);
  }
}

/** By hint. */
function uploadRecords(
  { log, settings }: RecordContext,
  { spec: { taskId, executorData }, sandbox }: { spec: LoggedLaunch; sandbox: Sandbox },
  { uploads, finished }: { uploads: LogUploads; finished: boolean },
): Map<string, UploadRecord> {
  const records = new Map<string, UploadRecord>();
  const { root, output = root, seenAs } = sandbox;
  const area = sandbox.executor?.directory ?? sandbox.area ?? root;
  const { compressExt = 'gz' } = settings.logrotateCompressionSettings ?? {};
  const ending = /^[gb]z/.test(compressExt) ? '.[gb]z*' : `.${compressExt}`;
  const rotated = (name: string) => `${name}*${ending}`;
  /** Results that could not be compressed are not lost for it. */
  const rest = (glob: string) => (glob === rotated(serviceLog) ? `${serviceLog}-[0-9]*` : undefined);
  const add = (
    hint: string,
    directory: string,
    fileGlob: string,
    file: ObjstoreUploaderFile = {},
    keepsFiles = false,
  ) => {
    const objstoreBucket = file.objstoreUploaderBucket ?? uploads.bucket;
    const objstoreKeyFormat = file.objstoreUploaderKeyPattern ?? uploads.keyPattern;
    if (objstoreBucket === undefined || objstoreKeyFormat === undefined)
      return log.warn(`Task ${taskId}: no bucket is set for ${fileGlob}; not uploaded`);
    // Some of them are chosen by callers.
    const name = hint.replaceAll(/[^\w.-]/g, '_').slice(0, longestHint);
    let unique = name;
    for (let count = 2; records.has(unique); count++) unique = `${name}-${count}`;
    const isOutput = directory === output || isBelow(directory, output);
    records.set(unique, {
      directory,
      fileGlob,
      onFinishGlob: rest(fileGlob),
      objstoreBucket,
      objstoreKeyFormat,
      finished,
      uploadImmediately: finished,
      checkSubdirectories: file.checkSubdirectories ?? false,
      storageClass: file.objstoreStorageClass ?? uploads.storageClass,
      applyStorageClassIfOverBytes: file.applyObjstoreStorageClassAfterBytes ?? uploads.applyStorageClassAfterBytes,
      task: fileNameOf(taskId),
      sandbox: isOutput ? output : root,
      seenAs: isOutput ? undefined : seenAs,
      keepsFiles,
    });
  };
  for (const [index, file] of uploads.files.entries()) {
    const { filename = '', directory = filename === serviceLog ? 'logs' : '' } = file;
    // There is none of a plain command, but for a file of its own that is called so.
    if (!sandbox.executor && filename === serviceLog && file.directory === undefined) continue;
    const base = outputs.includes(filename) && !sandbox.executor ? output : area;
    const place = normalize(join(base, directory));
    if (filename === '' || filename.includes('/') || (place !== base && !isBelow(place, base))) {
      log.warn(`Task ${taskId}: '${join(directory, filename)}' is not uploaded, it is no file of the task's folder`);
      continue;
    }
    const glob = filename.includes('*') ? filename : rotated(filename);
    add(file.objstoreUploaderFilenameHint ?? `file${index + 1}`, place, glob, file);
  }
  if (!sandbox.executor) {
    // Their results have a date in their names.
    add('default', join(output, 'logs'), `std*-[0-9]*${finished ? '' : ending}`);
    for (const name of finished ? outputs : []) add(name, output, name, {}, true);
    if (sandbox.programLogs) {
      add('programs', join(root, 'logs'), `*.std*-[0-9]*${finished ? '' : ending}`);
      for (const name of finished ? sandbox.programLogs : []) add(name, root, name, {}, true);
    }
    return records;
  }
  if (![...records.values()].some(({ fileGlob }) => fileGlob === rotated(serviceLog)))
    add('default', join(area, 'logs'), rotated(serviceLog));
  if (finished && executorData?.skipLogrotateAndCompress) add('unrotated', area, serviceLog, {}, true);
  return records;
}

const longestHint = 60;
const serviceLog = 'service.log';

/** Upload records of a task that are left, by its file name: something of its files is still to be uploaded. */
async function recordsOf(writing: RecordPlace, name: string): Promise<{ path: string; finished: boolean }[]> {
  const place = uploadRecordsOf(writing);
  const names = await readdir(place).catch(() => []);
  const like = names.filter((file) => file.startsWith(`${name}-`) && file.endsWith(recordEnding));
  const found: { path: string; finished: boolean }[] = [];
  for (const path of like.map((file) => join(place, file))) {
    const record = await readRecord(path);
    // The name of another task may go on where this one's ends.
    if (record && taskOf(record) === name) found.push({ path, finished: record.finished });
  }
  return found;
}

/** undefined: there is none, or none that can be read. */
async function readRecord(path: string): Promise<UploadRecord | undefined> {
  try {
    return UploadRecord.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined;
  }
}

/** `counts`: answers by the name of a record whether it is waited for. */
export const hasUploadsLeft = async (
  writing: RecordPlace,
  name: string,
  counts: (record: string) => boolean = () => true,
): Promise<boolean> => (await recordsOf(writing, name)).some(({ path }) => counts(basename(path)));

/** Finishes the records of a task that has ended while no agent ran, or whose agent ended right after it. */
export async function finishRecords(
  writing: RecordContext,
  task: { spec: LoggedLaunch; sandbox: Sandbox },
): Promise<void> {
  const left = await recordsOf(writing, fileNameOf(task.spec.taskId));
  if (left.some(({ finished }) => !finished)) await writeRecords(writing, task, true);
}

/** Its files have gone. */
export async function removeRecords(writing: RecordPlace, name: string): Promise<void> {
  for (const { path } of await recordsOf(writing, name)) await rm(path, { force: true });
}
