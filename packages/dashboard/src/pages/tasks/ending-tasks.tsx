import type { KilledTaskIdRecord, TaskCleanup, TaskId } from 'muster-client';
import { muster } from '../../api';
import { openAction } from '../../actions/action';
import { killTask } from '../../actions/task-actions';
import { Panel, useRead } from '../../ui/read';
import type { Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { inWords } from '../../ui/words';
import { hasTask } from '../../ui/find';
import { Shown, taskColumns } from './task-list';

const [idColumn, requestColumn, hostColumn] = taskColumns.map(({ id, title, value, cell }) => ({
  id,
  title,
  value: (row: { taskId: TaskId }) => value?.(row.taskId) ?? '',
  cell: (row: { taskId: TaskId }) => cell(row.taskId),
})) as [Column<{ taskId: TaskId }>, Column<{ taskId: TaskId }>, Column<{ taskId: TaskId }>];

const cleaningColumns: readonly Column<TaskCleanup>[] = [
  idColumn,
  requestColumn,
  hostColumn,
  {
    id: 'why',
    title: 'Because',
    value: ({ cleanupType }) => cleanupType,
    cell: ({ cleanupType }) => inWords(cleanupType),
  },
  { id: 'at', title: 'Since', value: ({ timestamp }) => timestamp, cell: ({ timestamp }) => <Time at={timestamp} /> },
  { id: 'user', title: 'By', cell: ({ user }) => user ?? '' },
  { id: 'message', title: 'Message', cell: ({ message }) => message ?? '' },
  {
    id: 'do',
    title: '',
    cell: (cleanup) => (
      <button type="button" className="quiet" onClick={() => openAction.set(killTask(cleanup.taskId, cleanup))}>
        End it now
      </button>
    ),
  },
];

export function Cleaning({ q }: { q: string }) {
  const read = useRead(['tasks', 'cleaning'], () => muster.tasks.cleaning({}));
  return (
    <Panel of={read}>
      {(all) => (
        <Shown
          label="Tasks that are ended"
          rows={all.filter(({ taskId }) => hasTask(q, taskId))}
          columns={cleaningColumns}
          keyOf={({ taskId, cleanupType }) => `${taskId.id} ${cleanupType}`}
          empty="No task is being ended."
        />
      )}
    </Panel>
  );
}

const killedColumns: readonly Column<KilledTaskIdRecord>[] = [
  idColumn,
  requestColumn,
  hostColumn,
  {
    id: 'at',
    title: 'First killed',
    value: ({ originalTimestamp }) => originalTimestamp,
    cell: ({ originalTimestamp }) => <Time at={originalTimestamp} />,
  },
  { id: 'retries', title: 'Times', value: ({ retries }) => retries, cell: ({ retries }) => retries + 1 },
  {
    id: 'why',
    title: 'Because',
    cell: ({ taskCleanupType, requestCleanupType }) => inWords(taskCleanupType ?? requestCleanupType ?? ''),
  },
];

export function Killed({ q }: { q: string }) {
  const read = useRead(['tasks', 'killed'], () => muster.tasks.killed({}));
  return (
    <Panel of={read}>
      {(all) => (
        <Shown
          label="Killed tasks"
          rows={all.filter(({ taskId }) => hasTask(q, taskId))}
          columns={killedColumns}
          keyOf={({ taskId }) => taskId.id}
          empty="No killed task is left to end."
        />
      )}
    </Panel>
  );
}
