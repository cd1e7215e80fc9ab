import { useState } from 'react';
import type { RequestHistory } from 'muster-client';
import { muster } from '../../api';
import { changesBetween } from '../../ui/changes';
import { Changes } from '../../ui/plan';
import { Pager } from '../../ui/pager';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { inWords } from '../../ui/words';

const PAGE = 20;

/** Who changed the request when, and which of its fields. */
export function HistoryTab({ requestId }: { requestId: string }) {
  const [page, setPage] = useState(1);
  const read = useRead(
    ['request', requestId, 'changes', page],
    () => muster.history.changesPage({ requestId, count: PAGE, page }),
    { isPaged: true },
  );
  return (
    <Panel of={read}>
      {({ objects, pageCount }) => {
        const rows = objects.map((change, index) => ({ change, before: objects[index + 1] }));
        return (
          <>
            <Table
              label="Changes"
              rows={rows}
              columns={columns}
              keyOf={({ change }) => `${change.createdAt} ${change.eventType}`}
              empty="Nothing has changed yet."
            />
            <Pager page={page} pageCount={pageCount} onPage={setPage} />
          </>
        );
      }}
    </Panel>
  );
}

interface Row {
  readonly change: RequestHistory;
  readonly before: RequestHistory | undefined;
}

const columns: readonly Column<Row>[] = [
  {
    id: 'at',
    title: 'When',
    value: ({ change }) => change.createdAt,
    cell: ({ change }) => <Time at={change.createdAt} />,
  },
  {
    id: 'what',
    title: 'What',
    value: ({ change }) => change.eventType,
    cell: ({ change }) => inWords(change.eventType),
  },
  { id: 'user', title: 'By', value: ({ change }) => change.user ?? '', cell: ({ change }) => change.user ?? '' },
  { id: 'message', title: 'Message', cell: ({ change }) => change.message ?? '' },
  { id: 'fields', title: 'Fields', cell: (row) => <Fields {...row} /> },
];

function Fields({ change, before }: Row) {
  if (!change.request || !before?.request) return null;
  const changes = changesBetween(before.request, change.request);
  if (changes.length === 0) return null;
  return (
    <details>
      <summary>{changes.length === 1 ? changes[0]!.path : `${changes.length} fields`}</summary>
      <Changes changes={changes} />
    </details>
  );
}
