import { useMemo } from 'react';
import type { NotedReason, PendingTaskId } from 'muster-client';
import { muster } from '../../api';
import { openAction } from '../../actions/action';
import { removeScheduled } from '../../actions/task-actions';
import { Mark } from '../../ui/badge';
import { DeployLink, Go, RequestLink, useFilters } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import type { Column } from '../../ui/table';
import { Time, useNow } from '../../ui/time';
import { inWords, ofMachines } from '../../ui/words';
import { Why } from '../request/tasks-tab';
import { Cleaning, Killed } from './ending-tasks';
import { has, hasTask, inTaskIds } from '../../ui/find';
import { Shown, taskColumns } from './task-list';
import { Heading } from '../../ui/heading';
import { Views } from '../../ui/views';

const states = [
  ['active', 'Active'],
  ['scheduled', 'Scheduled'],
  ['cleaning', 'Being ended'],
  ['killed', 'Killed'],
  ['lbcleanup', 'Leaving the load balancer'],
  ['decommissioning', 'On leaving machines'],
] as const;
type State = (typeof states)[number][0];

const LATE_MS = 60_000;

export function Page() {
  const [{ state: asked, q = '' }, setFilters] = useFilters();
  const state: State = states.find(([each]) => each === asked)?.[0] ?? 'active';
  return (
    <>
      <div className="head">
        <Heading>Tasks</Heading>
        <Go to="/task-search">Search ended tasks</Go>
        <Views />
      </div>
      <div className="tabs" role="group" aria-label="Which tasks">
        {states.map(([each, text]) => (
          <button
            key={each}
            type="button"
            className="tab"
            aria-pressed={each === state}
            onClick={() => setFilters({ state: each }, { step: true })}
          >
            {text}
          </button>
        ))}
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Search tasks"
          placeholder="Id, machine or rack"
          value={q}
          onChange={(event) => setFilters({ q: event.target.value })}
        />
      </form>
      {state === 'active' && <Active q={q} />}
      {state === 'decommissioning' && <Leaving q={q} />}
      {state === 'scheduled' && <Scheduled q={q} />}
      {state === 'cleaning' && <Cleaning q={q} />}
      {state === 'killed' && <Killed q={q} />}
      {state === 'lbcleanup' && <LeavingBalancer q={q} />}
    </>
  );
}

function Active({ q }: { q: string }) {
  const read = useRead(['tasks', 'active'], () => muster.tasks.activeIds({}));
  const rows = useMemo(() => (read.data ?? []).filter((id) => hasTask(q, id)), [read.data, q]);
  return (
    <Panel of={read}>
      {() => (
        <Shown label="Active tasks" rows={rows} columns={taskColumns} keyOf={({ id }) => id} empty="No task runs." />
      )}
    </Panel>
  );
}

function Leaving({ q }: { q: string }) {
  const read = useRead(['tasks', 'leaving'], async () => {
    const [ids, slaves] = await Promise.all([muster.tasks.activeIds({}), muster.slaves.list({})]);
    const hosts = new Set(
      slaves.filter(({ currentState }) => /DECOMMISSION/.test(currentState.state)).map(({ host }) => inTaskIds(host)),
    );
    return ids.filter(({ host }) => hosts.has(host));
  });
  return (
    <Panel of={read}>
      {(ids) => (
        <Shown
          label="Tasks on leaving machines"
          rows={ids.filter((id) => hasTask(q, id))}
          columns={taskColumns}
          keyOf={({ id }) => id}
          empty="No task is on a machine that leaves."
        />
      )}
    </Panel>
  );
}

function LeavingBalancer({ q }: { q: string }) {
  const read = useRead(['tasks', 'lbcleanup'], () => muster.tasks.leavingLoadBalancer({}), { everyMs: 10_000 });
  return (
    <Panel of={read}>
      {(ids) => (
        <Shown
          label="Tasks that leave the load balancer"
          rows={ids.filter((id) => hasTask(q, id))}
          columns={taskColumns}
          keyOf={({ id }) => id}
          empty="No task leaves the load balancer."
        />
      )}
    </Panel>
  );
}

function Due({ at }: { at: number }) {
  const now = useNow(10_000);
  return (
    <>
      <Time at={at} />{' '}
      {at < now - LATE_MS ? <Mark tone="bad">overdue</Mark> : at < now + LATE_MS && <Mark tone="busy">pending</Mark>}
    </>
  );
}

/** In the words of the scheduler, as it saw it last; all that is known of it is asked for one task at a time. */
function Reason({ id, reason }: { id: string; reason: NotedReason | undefined }) {
  return (
    <div className="reason">
      {reason !== undefined && <Mark tone="warn">{ofMachines(reason.message)}</Mark>}
      <Why id={id} />
    </div>
  );
}

interface Waiting extends PendingTaskId {
  readonly waits: NotedReason | undefined;
}

const scheduledColumns: readonly Column<Waiting>[] = [
  {
    id: 'request',
    title: 'Request',
    value: ({ requestId }) => requestId,
    cell: ({ requestId }) => <RequestLink id={requestId} />,
  },
  { id: 'no', title: '#', value: ({ instanceNo }) => instanceNo, cell: ({ instanceNo }) => instanceNo },
  {
    id: 'due',
    title: 'Next run',
    value: ({ nextRunAt }) => nextRunAt,
    cell: ({ nextRunAt }) => <Due at={nextRunAt} />,
  },
  {
    id: 'type',
    title: 'Because',
    value: ({ pendingType }) => pendingType,
    cell: ({ pendingType }) => inWords(pendingType),
  },
  {
    id: 'deploy',
    title: 'Deploy',
    cell: ({ requestId, deployId }) => <DeployLink requestId={requestId} deployId={deployId} />,
  },
  {
    id: 'why',
    title: 'Why it waits',
    value: ({ waits }) => waits?.message ?? '',
    cell: ({ id, waits }) => <Reason id={id} reason={waits} />,
  },
  {
    id: 'do',
    title: '',
    cell: ({ requestId, id }) => (
      <button type="button" className="quiet" onClick={() => openAction.set(removeScheduled(requestId, id))}>
        Remove
      </button>
    ),
  },
];

function Scheduled({ q }: { q: string }) {
  const read = useRead(['tasks', 'scheduled'], async () => {
    const [ids, reasons] = await Promise.all([muster.tasks.scheduledIds({}), muster.tasks.waitingReasons({})]);
    const byId = new Map(reasons.map((reason) => [reason.pendingTaskId.id, reason]));
    return ids.map((id): Waiting => ({ ...id, waits: byId.get(id.id) }));
  });
  return (
    <Panel of={read}>
      {(waiting) => (
        <Shown
          label="Scheduled tasks"
          rows={waiting
            .filter(({ id, waits }) => has(q, id, waits?.message ?? ''))
            .toSorted((a, b) => a.nextRunAt - b.nextRunAt)}
          columns={scheduledColumns}
          keyOf={({ id }) => id}
          empty="No task waits."
        />
      )}
    </Panel>
  );
}
