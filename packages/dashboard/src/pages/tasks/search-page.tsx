import { enumerations, type TaskIdHistory, type TaskState } from 'muster-client';
import { muster } from '../../api';
import { DAY_MS } from '../../ui/duration';
import { Go, paths, RequestLink, useFilters, useParam } from '../../ui/links';
import { Pager } from '../../ui/pager';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { TimeField } from '../../ui/time-field';
import { counted, wordOf } from '../../ui/words';
import { Heading } from '../../ui/heading';
import { Views } from '../../ui/views';
import { changed, deploy, log, machine, run, started, state } from './history-columns';

const times = ['startedAfter', 'startedBefore', 'updatedAfter', 'updatedBefore'] as const;
const texts = [
  ['requestId', 'Request'],
  ['deployId', 'Deploy'],
  ['runId', 'Run'],
  ['host', 'Machine'],
] as const;
const sizes = ['10', '25', '50', '100'] as const;

const columns: readonly Column<TaskIdHistory>[] = [
  { id: 'id', title: 'Task', cell: ({ taskId }) => <Go to={paths.task(taskId.id)}>{taskId.id}</Go> },
  {
    id: 'request',
    title: 'Request',
    value: ({ taskId }) => taskId.requestId,
    cell: ({ taskId }) => <RequestLink id={taskId.requestId} />,
  },
  deploy,
  machine,
  state,
  run,
  started,
  changed,
  log,
];

/** Tasks by everything that the history knows of them. The filters are the address. */
export function Page() {
  const ofRequest = useParam('requestId');
  const [filters, setFilters] = useFilters();
  const page = Number(filters['page'] ?? '1');
  const count = Number(filters['count'] ?? '25');
  const wish = {
    ...Object.fromEntries(texts.map(([name]) => [name, filters[name]])),
    ...(ofRequest !== '' && { requestId: ofRequest }),
    ...Object.fromEntries(times.map((name) => [name, filters[name] === undefined ? undefined : Number(filters[name])])),
    lastTaskStatus: filters['lastTaskStatus'] as TaskState | undefined,
    orderDirection: filters['orderDirection'] as 'ASC' | 'DESC' | undefined,
    count,
    page,
  };
  const read = useRead(['tasks', 'search', wish], () => muster.history.tasksPage(wish), { isPaged: true });
  const set = (name: string, value: string | undefined) => setFilters({ [name]: value, page: undefined });
  return (
    <>
      <div className="head">
        <Heading>Task search</Heading>
        {ofRequest !== '' && <RequestLink id={ofRequest} />}
        <Views />
        <button
          type="button"
          className="chip"
          onClick={() =>
            setFilters({ lastTaskStatus: 'TASK_FAILED', updatedAfter: String(Date.now() - DAY_MS), page: undefined })
          }
        >
          Failed in 24 hours
        </button>
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        {texts
          .filter(([name]) => name !== 'requestId' || ofRequest === '')
          .map(([name, label]) => (
            <input
              key={name}
              aria-label={label}
              placeholder={label}
              value={filters[name] ?? ''}
              onChange={(event) => set(name, event.target.value)}
            />
          ))}
        <select
          aria-label="State"
          value={filters['lastTaskStatus'] ?? ''}
          onChange={(event) => set('lastTaskStatus', event.target.value)}
        >
          <option value="">State: all</option>
          {enumerations.TaskState.map((state) => (
            <option key={state} value={state}>
              {wordOf('task', state).text}
            </option>
          ))}
        </select>
        {times.map((name) => (
          <TimeField
            key={name}
            label={name.replace(/([A-Z])/, ' $1').toLowerCase()}
            value={filters[name]}
            onChange={(value) => set(name, value)}
          />
        ))}
        <select
          aria-label="Order"
          value={filters['orderDirection'] ?? 'DESC'}
          onChange={(event) => set('orderDirection', event.target.value)}
        >
          <option value="DESC">Newest first</option>
          <option value="ASC">Oldest first</option>
        </select>
        <select aria-label="Rows a page" value={String(count)} onChange={(event) => set('count', event.target.value)}>
          {sizes.map((size) => (
            <option key={size}>{size}</option>
          ))}
        </select>
      </form>
      <Panel of={read}>
        {({ objects, dataCount, pageCount }) => (
          <>
            <p className="figures" role="status">
              {counted(dataCount, 'task')}
            </p>
            <Table
              label="Tasks"
              rows={objects}
              columns={columns}
              keyOf={({ taskId }) => taskId.id}
              empty="No task matches."
            />
            <Pager
              page={page}
              pageCount={pageCount}
              onPage={(next) => setFilters({ page: String(next) }, { step: true })}
            />
          </>
        )}
      </Panel>
    </>
  );
}
