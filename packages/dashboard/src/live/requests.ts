import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import type { Event, RequestParent } from 'muster-client';
import { muster } from '../api';
import { Entities } from './entities';

const ofTasks: ReadonlySet<string> = new Set(['TASK', 'HEALTH', 'PENDING']);

class Requests {
  readonly rows = new Entities<RequestParent>({
    idOf: (row) => row.request.id,
    readAll: () => {
      this.detailed.clear();
      return muster.requests.list({});
    },
    readSome: async (ids) => {
      for (const id of ids) this.detailed.add(id);
      return (await muster.requests.batch({ id: [...ids] })).requests;
    },
  });
  /** Read one by one, with their tasks, which the list of all leaves out. */
  private readonly detailed = new Set<string>();
  /** Ids whose rows are on screen: their health is read with them and again when one of their tasks changes. */
  private seen = new Set<string>();

  apply(event: Event): void {
    const { requestId } = event;
    if (requestId === undefined) return;
    if (event.type === 'REQUEST' && event.eventType === 'DELETED') this.rows.remove(requestId);
    else if (event.type === 'REQUEST' || event.type === 'DEPLOY') this.rows.dirty(requestId);
    else if (ofTasks.has(event.type) && this.seen.has(requestId)) this.rows.dirty(requestId);
  }

  see(ids: readonly string[]): void {
    this.seen = new Set(ids);
    for (const id of ids) if (!this.detailed.has(id)) this.rows.dirty(id);
  }
}

export const requests = new Requests();

/** All requests that the caller may read. */
export function useRequests(): {
  rows: readonly RequestParent[];
  loaded: boolean;
  failure: unknown;
  retry: () => void;
} {
  const rows = useSyncExternalStore(requests.rows.subscribeList, requests.rows.all);
  const [failure, setFailure] = useState<unknown>();
  const retry = useCallback(() => {
    setFailure(undefined);
    requests.rows.load().catch(setFailure);
  }, []);
  useEffect(() => {
    if (!requests.rows.loaded) retry();
  }, [retry]);
  return { rows, loaded: requests.rows.loaded, failure, retry };
}

export function useRequestRow(id: string): RequestParent | undefined {
  const subscribe = useCallback((listener: () => void) => requests.rows.subscribeRow(id, listener), [id]);
  return useSyncExternalStore(subscribe, () => requests.rows.get(id));
}
