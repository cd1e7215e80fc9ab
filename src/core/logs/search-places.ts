import { isOwn, type KeyPrefix, keyPrefixes, type LogOwner, type LogSubject, type TimeSpan } from './key-prefixes.js';
import type { ObjstoreUploaderFile } from '../model/deploy.js';
import type { RequestEventType } from '../model/enums.js';
import type { ObjstoreBucket, ObjstoreLayout } from '../model/logs.js';
import { type UploadBounds, withinBounds } from './upload-bounds.js';

/** The keys of a bucket that begin so, as far as they belong to the owner. */
export interface SearchPlace extends KeyPrefix {
  /** Group of the request; 'default' for none. It decides about the bucket. */
  group: string;
  bucket: ObjstoreBucket;
  owner: LogOwner;
}

export interface Search {
  subject: LogSubject;
  span: TimeSpan;
  /** Buckets for files that deploys and runs of the subject have named. */
  files: readonly ObjstoreUploaderFile[];
}

/**
 * Name of a place in the pages of a search: 'a-b-' begins the logs of request 'a-b' and those of deploy 'b' of request
 * 'a'.
 */
export function placeName({ group, bucket, prefix, taskIdAt, owner }: SearchPlace): string {
  const deploy = taskIdAt === undefined || owner.deployId === undefined ? '' : `@${owner.deployId}`;
  return `${group}-${bucket.objstoreBucket}-${prefix}${deploy}`;
}

/** Everywhere to look, without what would be found twice; or whose span is too long to look everywhere. */
export function searchPlaces(
  layout: ObjstoreLayout,
  searches: readonly Search[],
): { places: SearchPlace[] } | { tooLong: LogOwner } {
  const places: SearchPlace[] = [];
  for (const { subject, span, files } of searches) {
    const { group, owner } = subject;
    const bounds = boundsOf(layout);
    const all = [...layout.objstoreUploaderAdditionalFiles, ...files.map((file) => withinBounds(file, bounds))];
    const patterns = patternsOf(layout, all);
    const prefixes = patterns.map((pattern) => keyPrefixes(pattern, subject, span));
    if (prefixes.includes(undefined)) return { tooLong: owner };
    for (const bucket of bucketsOf(layout, group, all)) {
      for (const prefix of prefixes.flat()) if (prefix) places.push({ ...prefix, group, bucket, owner });
    }
  }
  return { places: withoutCovered(places) };
}

const boundsOf = (layout: ObjstoreLayout): UploadBounds => ({
  bucket: layout.objstoreBucket,
  allowedBuckets: layout.allowedUploaderBuckets,
  keyPattern: layout.objstoreKeyFormat,
  files: layout.objstoreUploaderAdditionalFiles,
});

function patternsOf({ objstoreKeyFormat }: ObjstoreLayout, files: readonly ObjstoreUploaderFile[]): string[] {
  return [...new Set([objstoreKeyFormat, ...present(files.map((file) => file.objstoreUploaderKeyPattern))])];
}

function bucketsOf(layout: ObjstoreLayout, group: string, files: readonly ObjstoreUploaderFile[]): ObjstoreBucket[] {
  const { objstoreBucket, objstoreAccessKey, objstoreSecretKey } = layout;
  const standard = { objstoreBucket, objstoreAccessKey, objstoreSecretKey };
  const buckets = [
    ofGroup(layout.groupOverrides, group) ?? standard,
    ofGroup(layout.groupObjstoreSearchConfigs, group) ?? standard,
    ...present(files.map((file) => file.objstoreUploaderBucket)).map((name) => ({ ...standard, objstoreBucket: name })),
  ];
  const byName = new Map<string, ObjstoreBucket>();
  for (const bucket of buckets) if (!byName.has(bucket.objstoreBucket)) byName.set(bucket.objstoreBucket, bucket);
  return [...byName.values()];
}

/** Groups are text of users: one may be called 'constructor'. */
const ofGroup = (buckets: Record<string, ObjstoreBucket>, group: string): ObjstoreBucket | undefined =>
  Object.hasOwn(buckets, group) ? buckets[group] : undefined;

/** The order given is kept. */
function withoutCovered(places: readonly SearchPlace[]): SearchPlace[] {
  const kept = new Set<SearchPlace>();
  // Places whose prefixes begin the present one, the shortest first: sorted, these come right before it.
  let around: SearchPlace[] = [];
  for (const place of places.toSorted(byBucketAndPrefix)) {
    around = around.filter((wider) => contains(wider, place));
    if (around.some((wider) => covers(wider, place))) continue;
    kept.add(place);
    around.push(place);
  }
  return places.filter((place) => kept.has(place));
}

const contains = (a: SearchPlace, b: SearchPlace): boolean =>
  a.bucket.objstoreBucket === b.bucket.objstoreBucket && b.prefix.startsWith(a.prefix);

/** True when a place that contains another drops nothing of it as not its own. */
function covers(a: SearchPlace, b: SearchPlace): boolean {
  if (a.taskIdAt === undefined || isOwn(b.prefix, a, a.owner)) return true;
  return (
    a.taskIdAt === b.taskIdAt &&
    a.owner.requestId === b.owner.requestId &&
    (a.owner.deployId === undefined || a.owner.deployId === b.owner.deployId)
  );
}

const byBucketAndPrefix = (a: SearchPlace, b: SearchPlace): number =>
  compare(a.bucket.objstoreBucket, b.bucket.objstoreBucket) ||
  compare(a.prefix, b.prefix) ||
  (a.taskIdAt ?? -1) - (b.taskIdAt ?? -1);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const present = (texts: readonly (string | undefined)[]): string[] =>
  texts.filter((text): text is string => text !== undefined && text !== '');

/*
 * When whatever is asked for can have written logs. Times are epoch milliseconds. A caller may narrow the span, never widen
 * it: every day, month or year more is another place to look.
 */

const day = 24 * 3_600_000;

export interface Narrowing {
  start?: number;
  end?: number;
}

interface TaskTimes {
  startedAt: number;
  /** false: nothing is known of the task but its id. */
  isKnown: boolean;
  /** The update that ended it. */
  endedAt?: number;
}

export function spanOfTask(
  { startedAt, isKnown, endedAt }: TaskTimes,
  missingTaskPeriodMillis: number,
  now: number,
): TimeSpan {
  return { start: startedAt, end: isKnown ? (endedAt ?? now) : startedAt + missingTaskPeriodMillis };
}

export interface DeployTimes {
  createdAt: number;
  /** It is the active one, or on its way to be. */
  isCurrent: boolean;
  /** Time at which its last task ended. */
  lastFinishAt?: number;
}

export function spanOfDeploy({ createdAt, isCurrent, lastFinishAt }: DeployTimes, now: number): TimeSpan {
  const isOver = !isCurrent && lastFinishAt !== undefined;
  return { start: createdAt, end: isOver ? lastFinishAt + day : now };
}

export interface RequestTimes {
  firstAt: number;
  lastAt: number;
  lastEvent: RequestEventType;
}

/** undefined: of a request without any history it must be said from when on. */
export function spanOfRequest(
  times: RequestTimes | undefined,
  { start }: Narrowing,
  now: number,
): TimeSpan | undefined {
  if (!times) return start === undefined ? undefined : { start, end: now };
  const isOver = times.lastEvent === 'DELETED' || times.lastEvent === 'PAUSED';
  return { start: times.firstAt, end: isOver ? times.lastAt + day : now };
}

export const narrow = (span: TimeSpan, { start, end }: Narrowing): TimeSpan => ({
  start: Math.max(span.start, start ?? span.start),
  end: Math.min(span.end, end ?? span.end),
});
