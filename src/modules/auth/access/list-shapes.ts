import { parseTaskId } from '../../../core/task-id.js';
import type { RequestBatch } from '../../../core/model/request.js';
import { type CallArguments, texts } from './call.js';

/** Says which request each part of an answer belongs to. */
export interface ListShape {
  requestIds(answer: unknown): string[];
  /** Keeps the parts that may be seen; `mask` hides what only writers may see of one. */
  select(answer: unknown, mayRead: (requestId: string) => boolean, mask: Mask, call: CallArguments): unknown;
}
type Mask = (requestId: string, part: unknown) => unknown;

/** A list with one request per entry. */
export const rowsOf = <Row>(requestIdOf: (row: Row) => string): ListShape => ({
  requestIds: (answer) => (answer as Row[]).map(requestIdOf),
  select: (answer, mayRead, mask) =>
    (answer as Row[]).filter((row) => mayRead(requestIdOf(row))).map((row) => mask(requestIdOf(row), row)),
});

/** A map with one request per key. */
export const entriesOf = (requestIdOf: (key: string) => string): ListShape => ({
  requestIds: (answer) => Object.keys(answer as object).map(requestIdOf),
  select: (answer, mayRead, mask) =>
    Object.fromEntries(
      Object.entries(answer as object)
        .filter(([key]) => mayRead(requestIdOf(key)))
        .map(([key, value]: [string, unknown]) => [key, mask(requestIdOf(key), value)]),
    ),
});

export const ids = rowsOf<string>((id) => id);
export const taskRows = rowsOf<{ taskId: { requestId: string } }>(({ taskId }) => taskId.requestId);
export const ownedRows = rowsOf<{ requestId: string }>(({ requestId }) => requestId);
export const waitingRows = rowsOf<{ pendingTaskId: { requestId: string } }>(
  ({ pendingTaskId }) => pendingTaskId.requestId,
);
export const parentRows = rowsOf<{ request: { id: string } }>(({ request }) => request.id);
export const deployRows = rowsOf<{ deployMarker: { requestId: string } }>(({ deployMarker }) => deployMarker.requestId);
export const byTaskId = entriesOf((taskId) => parseTaskId(taskId)?.requestId ?? '');
export const byRequestId = entriesOf((requestId) => requestId);

/** Requests that may not be read count as not found, in the order asked for: their place must not tell that they exist. */
export const batch: ListShape = {
  requestIds: (answer) => (answer as RequestBatch).requests.map(({ request }) => request.id),
  select: (answer, mayRead, mask, { query }) => {
    const { requests, notFound } = answer as RequestBatch;
    const hidden = requests.map(({ request }) => request.id).filter((id) => !mayRead(id));
    const unseen = new Set([...notFound, ...hidden]);
    const inOrder = texts(query['id']).filter((id) => unseen.has(id));
    return {
      requests: requests.filter(({ request }) => mayRead(request.id)).map((parent) => mask(parent.request.id, parent)),
      notFound: [...new Set([...inOrder, ...unseen])],
    };
  },
};
