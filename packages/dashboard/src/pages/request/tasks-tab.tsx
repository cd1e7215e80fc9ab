import { useState } from 'react';
import type { PendingTask, TaskIdHistory, TaskRequest } from 'muster-client';
import { muster, orNone } from '../../api';
import { ActionButton } from '../../actions/action-button';
import { killTask, removeScheduled } from '../../actions/task-actions';
import { Explained } from '../../ui/explain';
import { DeployLink, Go, paths } from '../../ui/links';
import { Pager } from '../../ui/pager';
import { Panel, useRead } from '../../ui/read';
import { RunOrigin } from '../../ui/run-origin';
import { Table, type Column } from '../../ui/table';
import { Lasted, Time } from '../../ui/time';
import { inWords } from '../../ui/words';
import { logPathOf } from '../../view';
import { changed, deploy, instance, machine, run, started, state } from '../tasks/history-columns';

const PAGE = 20;

export function TasksTab({ requestId, isGone = false }: { requestId: string; isGone?: boolean }) {
  return (
    <>
      {!isGone && (
        <>
          <h2>Running</h2>
          <ActiveTasks requestId={requestId} />
          <h2>Waiting</h2>
          <ScheduledTasks requestId={requestId} />
        </>
      )}
      <h2>Ended</h2>
      <EndedTasks requestId={requestId} count={PAGE} />
      <p>
        <Go to={`${paths.request(requestId)}/task-search`}>Search them</Go>
      </p>
    </>
  );
}

const common: readonly Column<TaskIdHistory>[] = [instance, state, deploy, machine, started];

const logLink = (hasEnded: boolean): Column<TaskIdHistory> => ({
  id: 'log',
  title: 'Log',
  cell: ({ taskId }) => (
    <>
      <Go to={paths.tail(taskId.id, logPathOf(taskId.id, hasEnded))}>{logPathOf(taskId.id, hasEnded)}</Go>{' '}
      <Go to={paths.tail(taskId.id, 'stderr')}>stderr</Go>
    </>
  ),
});

export function ActiveTasks({ requestId }: { requestId: string }) {
  const read = useRead(['request', requestId, 'active'], async () => {
    const [tasks, ids] = await Promise.all([
      muster.history.activeTasksOfRequest({ requestId }),
      orNone(muster.tasks.idsOfRequest({ requestId })),
    ]);
    const inSet = (list: readonly { id: string }[] | undefined) => new Set(list?.map(({ id }) => id));
    return {
      tasks,
      healthy: inSet(ids?.healthy),
      young: inSet(ids?.notYetHealthy),
      cleaning: inSet(ids?.cleaning),
      balanced: inSet(ids?.loadBalanced),
    };
  });
  return (
    <Panel of={read}>
      {({ tasks, healthy, young, cleaning, balanced }) => {
        const healthWord = (id: string): string =>
          cleaning.has(id) ? 'being replaced' : healthy.has(id) ? 'healthy' : young.has(id) ? 'not healthy' : '';
        const columns: readonly Column<TaskIdHistory>[] = [
          ...common,
          ...(tasks.some(({ runId }) => runId !== undefined) ? [run] : []),
          {
            id: 'health',
            title: 'Health',
            value: ({ taskId }) => healthWord(taskId.id),
            cell: ({ taskId }) => `${healthWord(taskId.id)}${balanced.has(taskId.id) ? ', in the load balancer' : ''}`,
          },
          {
            id: 'up',
            title: 'Up',
            value: ({ taskId }) => taskId.startedAt,
            cell: ({ taskId }) => <Lasted from={taskId.startedAt} />,
          },
          logLink(false),
          {
            id: 'do',
            title: '',
            cell: ({ taskId }) => <ActionButton className="quiet" action={killTask(taskId)} />,
          },
        ];
        return (
          <>
            {tasks.length > 1 && (
              <p>
                <Go to={`${paths.request(requestId)}/tail/${logPathOf('$TASK_ID', false)}`}>Logs of all instances</Go>
              </p>
            )}
            <Table
              label="Running tasks"
              rows={tasks}
              columns={columns}
              keyOf={({ taskId }) => taskId.id}
              empty="No task runs."
            />
          </>
        );
      }}
    </Panel>
  );
}

export function ScheduledTasks({ requestId }: { requestId: string }) {
  const read = useRead(['request', requestId, 'scheduled'], () => muster.tasks.scheduledOfRequest({ requestId }));
  const columns: readonly Column<TaskRequest>[] = [
    {
      id: 'due',
      title: 'Due',
      value: ({ pendingTask }) => pendingTask.pendingTaskId.nextRunAt,
      cell: ({ pendingTask }) => <Time at={pendingTask.pendingTaskId.nextRunAt} />,
    },
    { id: 'no', title: '#', cell: ({ pendingTask }) => pendingTask.pendingTaskId.instanceNo },
    { id: 'type', title: 'Because', cell: ({ pendingTask }) => <Because {...pendingTask} /> },
    {
      id: 'deploy',
      title: 'Deploy',
      cell: ({ deploy }) => <DeployLink requestId={requestId} deployId={deploy.id ?? ''} />,
    },
    { id: 'message', title: 'Message', cell: ({ pendingTask }) => pendingTask.message ?? '' },
    { id: 'why', title: 'Why it waits', cell: ({ pendingTask }) => <Why id={pendingTask.pendingTaskId.id} /> },
    {
      id: 'do',
      title: '',
      cell: ({ pendingTask }) => (
        <ActionButton className="quiet" action={removeScheduled(requestId, pendingTask.pendingTaskId.id)} />
      ),
    },
  ];
  return (
    <Panel of={read}>
      {(tasks) => (
        <Table
          label="Waiting tasks"
          rows={tasks}
          columns={columns}
          keyOf={({ pendingTask }) => pendingTask.pendingTaskId.id}
          empty="No task waits."
        />
      )}
    </Panel>
  );
}

/** Runs say where they come from, other tasks what made them wait. */
const Because = ({ trigger, attempt, flowId, pendingTaskId, buffered, scheduledAt }: PendingTask) => (
  <>
    {trigger === undefined ? inWords(pendingTaskId.pendingType) : <RunOrigin {...{ trigger, attempt, flowId }} />}
    {buffered && ', behind another run'}
    {scheduledAt !== undefined && scheduledAt !== pendingTaskId.nextRunAt && (
      <>
        , planned for <Time at={scheduledAt} />
      </>
    )}
  </>
);

/** Asked when somebody wants to know, for one task at a time. */
export function Why({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  const read = useRead(['tasks', 'explain', id], () => orNone(muster.tasks.explain({ pendingTaskId: id })), {
    enabled: isOpen,
  });
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Why?</summary>
      {isOpen && (
        <Panel of={read}>{(found) => (found === null ? <p>It waits no more.</p> : <Explained task={found} />)}</Panel>
      )}
    </details>
  );
}

export function EndedTasks({ requestId, count }: { requestId: string; count: number }) {
  const [page, setPage] = useState(1);
  const read = useRead(
    ['request', requestId, 'ended', count, page],
    () => muster.history.tasksOfRequestPage({ requestId, count, page }),
    { isPaged: true },
  );
  const columns: readonly Column<TaskIdHistory>[] = [
    ...common,
    { ...changed, id: 'ended', title: 'Ended' },
    {
      id: 'lasted',
      title: 'Lasted',
      value: ({ taskId, updatedAt }) => updatedAt - taskId.startedAt,
      cell: ({ taskId, updatedAt }) => <Lasted from={taskId.startedAt} to={updatedAt} />,
    },
    run,
    logLink(true),
  ];
  return (
    <Panel of={read}>
      {({ objects, pageCount }) => (
        <>
          <Table
            label="Ended tasks"
            rows={objects}
            columns={columns}
            keyOf={({ taskId }) => taskId.id}
            empty="No task has ended yet."
          />
          <Pager page={page} pageCount={pageCount} onPage={setPage} />
        </>
      )}
    </Panel>
  );
}
