import { basename, dirname, join, relative } from 'node:path';
import type { ExecutorData } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { namesIn as namesInFolder, openDirectoryBelow } from '../sandbox/below.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import type { LocalClusterSettings } from '../settings.js';
import {
  type AdditionalLog,
  bytesOfSize,
  type LogrotateFrequency,
} from '../../platform/settings/log-rotation-settings.js';
import { globMatcher, isResultOf } from './schedule.js';

/** Part of a launch that its logs depend on. */
export interface LoggedLaunch extends Pick<LaunchSpec, 'taskId' | 'uploads'> {
  executorData?: Pick<
    ExecutorData,
    'logrotateFrequency' | 'skipLogrotateAndCompress' | 'loggingTag' | 'loggingExtraFields'
  >;
}

/** A log of a task. */
export interface TaskLog {
  /** Directory that the paths are below: the sandbox, or where the agent itself writes the output. */
  root: string;
  path: string;
  /** Directory of its results. */
  into: string;
  dateFormat: string;
  /** At the end of the names of results, before that of the compression. */
  extension: string;
  /** Absent: it is rotated by its size only. */
  frequency?: LogrotateFrequency;
  /** Larger ones are rotated when they are seen. */
  maxBytes?: number;
  /** Its results go when the task has been over for a while. */
  deleteAfterEnd: boolean;
}

/** Output files of a plain command. */
export const outputs: readonly string[] = ['stdout', 'stderr'];

const megabyte = 1024 * 1024;
const mostNames = 10_000;
const mostAdditionalLogs = 1_000;

type Settings = Pick<
  LocalClusterSettings,
  | 'logrotateFrequency'
  | 'logrotateDateformat'
  | 'logrotateExtrasDateformat'
  | 'logrotateAdditionalFiles'
  | 'maxServiceLogSizeMb'
>;

/** The outputs of the task's programs. */
export function mainLogs(
  spec: Pick<LoggedLaunch, 'executorData'>,
  { root, executor, programLogs = [], output = root }: Sandbox,
  settings: Settings,
): TaskLog[] {
  if (spec.executorData?.skipLogrotateAndCompress) return [];
  const { maxServiceLogSizeMb } = settings;
  const each = (path: string, into: string): TaskLog => ({
    root,
    path,
    into,
    dateFormat: settings.logrotateDateformat,
    extension: extensionOf(path),
    frequency: spec.executorData?.logrotateFrequency ?? settings.logrotateFrequency,
    maxBytes: maxServiceLogSizeMb && maxServiceLogSizeMb * megabyte,
    deleteAfterEnd: false,
  });
  const plain = (name: string): TaskLog => ({ ...each(name, 'logs'), extension: '' });
  if (!executor) return [...outputs.map((name) => ({ ...plain(name), root: output })), ...programLogs.map(plain)];
  return [each(relative(root, executor.serviceLog), join(relative(root, executor.directory), 'logs'))];
}

/** Existing further logs that the agent's settings name; WITH_RESULTS: former ones, too. */
export async function additionalLogs(
  { root, executor, area = executor?.directory }: Sandbox,
  settings: Settings,
  which: 'THERE' | 'WITH_RESULTS' = 'THERE',
): Promise<TaskLog[]> {
  if (area === undefined) return [];
  const found = new Map<string, TaskLog>();
  for (const file of settings.logrotateAdditionalFiles) {
    for (const path of await matches(root, relative(root, area), file.filename, which)) {
      if (found.size === mostAdditionalLogs) return [...found.values()];
      if (!found.has(path)) found.set(path, { root, ...additionalLog(path, file, settings) });
    }
  }
  return [...found.values()];
}

function additionalLog(path: string, file: AdditionalLog, settings: Settings): Omit<TaskLog, 'root'> {
  const size = file.logrotateSizeOverride;
  return {
    path,
    into: dirname(path),
    dateFormat: file.dateformat ?? settings.logrotateExtrasDateformat,
    extension: file.extension ?? '',
    frequency: size === undefined ? (file.logrotateFrequencyOverride ?? settings.logrotateFrequency) : undefined,
    maxBytes: size === undefined ? undefined : bytesOfSize(size),
    deleteAfterEnd: file.deleteInExecutorCleanup,
  };
}

const extensionOf = (path: string): string => /\.[^./]+$/.exec(basename(path).slice(1))?.[0] ?? '';

/** Paths below `directory` that the glob names, without results of earlier rotations. */
async function matches(
  root: string,
  directory: string,
  glob: string,
  which: 'THERE' | 'WITH_RESULTS',
): Promise<string[]> {
  let places = [directory];
  for (const name of glob.split('/').filter((part) => part !== '' && part !== '.')) {
    const found = await Promise.all(places.map((place) => namesLike(root, place, name, which)));
    places = found.flat().slice(0, mostNames);
  }
  return places.filter((place) => place !== directory);
}

async function namesLike(
  root: string,
  place: string,
  glob: string,
  which: 'THERE' | 'WITH_RESULTS',
): Promise<string[]> {
  if (!/[*?[]/.test(glob)) return [join(place, glob)];
  const there = await namesIn(root, place);
  // Of a log that has gone its results tell the name.
  const gone = which === 'THERE' ? [] : there.flatMap(possibleBases);
  const names = [...new Set([...there, ...gone])];
  const isNamed = globMatcher(glob);
  const isResult = (name: string) => {
    const dash = name.search(/-[0-9]/);
    return dash > 0 && there.some((other) => other.length < name.length && isResultOf(other, name));
  };
  const visible = names.filter((name) => glob.startsWith('.') || !name.startsWith('.'));
  return visible.filter((name) => isNamed(name) && !isResult(name)).map((name) => join(place, name));
}

/** Names of logs that a result may belong to: there may be numbers in the name of a log, and dashes in a date. */
const possibleBases = (name: string): string[] =>
  [...name.matchAll(/-(?=[0-9])/g)].map(({ index }) => name.slice(0, index));

/** None, if it is no directory. */
export async function namesIn(root: string, path: string): Promise<string[]> {
  const directory = await openDirectoryBelow(root, path, 'NONE');
  if (!directory) return [];
  try {
    const names: string[] = [];
    for await (const name of namesInFolder(directory.handle)) if (names.push(name) === mostNames) break;
    return names.toSorted();
  } finally {
    await directory.handle.close();
  }
}
