import type { TaskHistory, TaskProgram } from 'muster-client';
import { Mark } from '../../ui/badge';
import { Go, paths } from '../../ui/links';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';

const roles = { INIT: 'before', SIDECAR: 'beside', POST: 'after' } as const;
const states = {
  RUNNING: ['busy', 'Running'],
  SUCCEEDED: ['good', 'Succeeded'],
  FAILED: ['bad', 'Failed'],
} as const;

/** The programs around the main one, as far as they have begun, with their output. */
export function Programs({ history }: { history: TaskHistory }) {
  const taskId = history.task.taskId.id;
  const columns: readonly Column<TaskProgram>[] = [
    { id: 'name', title: 'Program', cell: ({ name }) => <code>{name}</code> },
    { id: 'role', title: 'Runs', cell: ({ role }) => roles[role] },
    {
      id: 'state',
      title: 'State',
      cell: ({ state }) => <Mark tone={states[state][0]}>{states[state][1]}</Mark>,
    },
    { id: 'starts', title: 'Starts', cell: ({ starts }) => starts },
    { id: 'at', title: 'Since', cell: ({ timestamp }) => <Time at={timestamp} /> },
    { id: 'message', title: 'Says', cell: ({ message }) => message ?? '' },
    {
      id: 'output',
      title: 'Output',
      cell: ({ name }) => (
        <>
          <Go to={paths.tail(taskId, `${name}.stdout`)}>stdout</Go> ·{' '}
          <Go to={paths.tail(taskId, `${name}.stderr`)}>stderr</Go>
        </>
      ),
    },
  ];
  return (
    <>
      <h2>Programs around it</h2>
      <Table
        label="Programs around it"
        rows={history.programs ?? []}
        columns={columns}
        keyOf={({ name }) => name}
        empty="None has begun."
      />
    </>
  );
}
