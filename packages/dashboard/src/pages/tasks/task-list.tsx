import type { TaskId } from 'muster-client';
import { openAction } from '../../actions/action';
import { killTask } from '../../actions/task-actions';
import { Go, HostLink, paths, RequestLink } from '../../ui/links';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { logPathOf } from '../../view';

/** As many as a table shows; a search narrows them. */
const SHOWN = 500;

export function Shown<Row>(props: {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  empty: string;
}) {
  const { rows } = props;
  return (
    <>
      <p className="figures" role="status">
        {rows.length > SHOWN ? `The first ${SHOWN} of ${rows.length}; a search narrows them` : rows.length}
      </p>
      <Table {...props} rows={rows.slice(0, SHOWN)} />
    </>
  );
}

export const taskColumns: readonly Column<TaskId>[] = [
  { id: 'id', title: 'Task', value: ({ id }) => id, cell: ({ id }) => <Go to={paths.task(id)}>{id}</Go> },
  {
    id: 'request',
    title: 'Request',
    value: ({ requestId }) => requestId,
    cell: ({ requestId }) => <RequestLink id={requestId} />,
  },
  { id: 'host', title: 'Machine', value: ({ host }) => host, cell: ({ host }) => <HostLink host={host} /> },
  { id: 'rack', title: 'Rack', value: ({ rackId }) => rackId, cell: ({ rackId }) => rackId },
  { id: 'at', title: 'Started', value: ({ startedAt }) => startedAt, cell: ({ startedAt }) => <Time at={startedAt} /> },
  { id: 'log', title: 'Log', cell: ({ id }) => <Go to={paths.tail(id, logPathOf(id, false))}>log</Go> },
  {
    id: 'do',
    title: '',
    cell: (taskId) => (
      <button type="button" className="quiet" onClick={() => openAction.set(killTask(taskId))}>
        Kill
      </button>
    ),
  },
];
