import type { ObjstoreLayout } from '../model/logs.js';
import { makeTaskId } from '../task-id.js';
import type { Search } from './search-places.js';

export const standardPattern = '%requestId/%Y/%m/%taskId_%index-%s-%filename';

export const layout = (changes: Partial<ObjstoreLayout> = {}): ObjstoreLayout => ({
  objstoreBucket: 'logs',
  objstoreKeyFormat: standardPattern,
  groupOverrides: {},
  groupObjstoreSearchConfigs: {},
  objstoreUploaderAdditionalFiles: [{ filename: 'service.log' }],
  ...changes,
});

/** 2026-01-31 at 22:30 UTC. */
export const evening = Date.UTC(2026, 0, 31, 22, 30);

export const idOf = (requestId: string, deployId: string, startedAt = evening): string =>
  makeTaskId({ requestId, deployId, startedAt, instanceNo: 1, host: 'host-1', rackId: 'r' }).id;

/** Of a request, a deploy or a task from that evening on, for some hours. */
export function searchFor(
  requestId: string,
  { deployId, isTask = false, hours = 3 }: { deployId?: string; isTask?: boolean; hours?: number } = {},
): Search {
  const task = deployId !== undefined && isTask ? { id: idOf(requestId, deployId), host: 'host-1' } : undefined;
  return {
    subject: { owner: { requestId, deployId, task }, group: 'default', tag: 'web' },
    span: { start: evening, end: evening + hours * 3_600_000 },
  };
}
