import { hasEnded, type TaskIdHistory } from 'muster-client';
import { Badge } from '../../ui/badge';
import { DeployLink, Go, HostLink, paths } from '../../ui/links';
import { originText, RunOrigin } from '../../ui/run-origin';
import type { Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { logPathOf } from '../../view';

type HistoryColumn = Column<TaskIdHistory>;

/** Columns of the tables that show tasks of the history. */
export const instance: HistoryColumn = {
  id: 'no',
  title: '#',
  value: ({ taskId }) => taskId.instanceNo,
  cell: ({ taskId }) => <Go to={paths.task(taskId.id)}>{taskId.instanceNo}</Go>,
};
export const state: HistoryColumn = {
  id: 'state',
  title: 'State',
  value: ({ lastTaskState }) => lastTaskState ?? '',
  cell: ({ lastTaskState }) => <Badge of="task" state={lastTaskState} />,
};
export const deploy: HistoryColumn = {
  id: 'deploy',
  title: 'Deploy',
  value: ({ taskId }) => taskId.deployId,
  cell: ({ taskId }) => <DeployLink requestId={taskId.requestId} deployId={taskId.deployId} />,
};
export const machine: HistoryColumn = {
  id: 'host',
  title: 'Machine',
  value: ({ taskId }) => taskId.host,
  cell: ({ taskId }) => <HostLink host={taskId.host} />,
};
export const started: HistoryColumn = {
  id: 'started',
  title: 'Started',
  value: ({ taskId }) => taskId.startedAt,
  cell: ({ taskId }) => <Time at={taskId.startedAt} />,
};
export const changed: HistoryColumn = {
  id: 'updated',
  title: 'Changed',
  value: ({ updatedAt }) => updatedAt,
  cell: ({ updatedAt }) => <Time at={updatedAt} />,
};
/** Of runs only: tasks of services have no origin. */
export const run: HistoryColumn = {
  id: 'run',
  title: 'Run',
  value: originText,
  cell: (row) => (
    <>
      <RunOrigin {...row} /> {row.runId !== undefined && <span className="faint">{row.runId}</span>}
    </>
  ),
};
/** Where the settings say that the log of a task is, while it runs and when it has ended. */
export const log: HistoryColumn = {
  id: 'log',
  title: 'Log',
  cell: ({ taskId, lastTaskState }) => (
    <Go to={paths.tail(taskId.id, logPathOf(taskId.id, hasEnded(lastTaskState)))}>log</Go>
  ),
};
