import { useEffect, useMemo, useRef } from 'react';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import type { RequestParent } from 'muster-client';
import type { Action } from '../../actions/action';
import { requests } from '../../live/requests';
import { RequestStateMark } from '../../live/request-state';
import type { Trouble } from '../../live/troubles';
import { Mark } from '../../ui/badge';
import { MenuButton } from '../../ui/menu';
import { DeployLink, Go, paths } from '../../ui/links';
import { SortButton, sorted, type Column, type Sort } from '../../ui/table';
import { Time } from '../../ui/time';
import { isLongRunning, requestTypes, wordOf } from '../../ui/words';
import { deployUser, healthOf } from './filter';

const ROW = 40;

export interface RequestListProps {
  readonly rows: readonly RequestParent[];
  /** A search has put the best first. */
  readonly keepsOrder: boolean;
  readonly sortText: string | undefined;
  readonly onSort: (sort: string) => void;
  readonly starred: ReadonlySet<string>;
  readonly toggleStar: (id: string) => void;
  readonly chosen: ReadonlySet<string>;
  readonly choose: (ids: ReadonlySet<string>) => void;
  readonly troublesOf: (parent: RequestParent) => readonly Trouble[];
  readonly actionsOf: (parent: RequestParent) => readonly Action[];
  readonly act: (action: Action) => void;
}

const sortOf = (text: string | undefined): Sort | undefined =>
  text === undefined ? undefined : { by: text.replace(/^-/, ''), descending: text.startsWith('-') };

const deployedAt = (row: RequestParent): number => row.requestDeployState?.activeDeploy?.timestamp ?? 0;

const columns = (props: RequestListProps): readonly Column<RequestParent>[] => [
  {
    id: 'id',
    title: 'Request',
    value: (row) => row.request.id,
    cell: (row) => <Go to={paths.request(row.request.id)}>{row.request.id}</Go>,
  },
  {
    id: 'type',
    title: 'Type',
    value: (row) => row.request.requestType,
    cell: (row) => requestTypes[row.request.requestType] ?? row.request.requestType,
  },
  {
    id: 'state',
    title: 'State',
    value: (row) => `${props.troublesOf(row).length > 0 ? 0 : 1}${wordOf('request', row.state).text}`,
    cell: (row) => <RequestStateMark row={row} troubles={props.troublesOf(row)} />,
  },
  {
    id: 'health',
    title: 'Instances',
    value: (row) => healthOf(row)?.healthy ?? -1,
    cell: (row) => <Health row={row} />,
  },
  {
    id: 'deploy',
    title: 'Deploy',
    value: (row) => row.requestDeployState?.activeDeploy?.deployId ?? '',
    cell: (row) => <Deploy row={row} />,
  },
  { id: 'deployed', title: 'Deployed', value: deployedAt, cell: (row) => <Time at={deployedAt(row)} /> },
  { id: 'group', title: 'Group', value: (row) => row.request.group ?? '', cell: (row) => row.request.group ?? '' },
];

/** Thousands of rows, of which those on screen are drawn. For screen readers it is a table with a count of rows. */
export function RequestList(props: RequestListProps) {
  const { sortText, keepsOrder, rows } = props;
  const all = columns(props);
  const sort = sortOf(sortText) ?? (keepsOrder ? undefined : { by: 'id', descending: false });
  const inOrder = useMemo(
    () => sorted(rows, columns(props), sort),
    [rows, sort?.by, sort?.descending, props.troublesOf],
  );
  const list = useRef<HTMLDivElement>(null);
  const virtual = useWindowVirtualizer({
    count: inOrder.length,
    estimateSize: () => ROW,
    overscan: 12,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  const items = virtual.getVirtualItems();
  const seen = items.map(({ index }) => inOrder[index]?.request.id ?? '').join('\n');
  useEffect(() => {
    if (seen !== '') requests.see(seen.split('\n'));
  }, [seen, rows.length]);

  return (
    <div role="table" aria-label="Requests" aria-rowcount={inOrder.length + 1} className="grid">
      <div role="row" aria-rowindex={1} className="grid-head">
        <span role="columnheader">
          <span className="hidden">Chosen and starred</span>
        </span>
        {all.map(({ id, title }) => (
          <span
            key={id}
            role="columnheader"
            aria-sort={sort?.by === id ? (sort.descending ? 'descending' : 'ascending') : 'none'}
          >
            <SortButton
              title={title}
              sort={sort?.by === id ? sort : undefined}
              onSort={(descending) => props.onSort(descending ? `-${id}` : id)}
            />
          </span>
        ))}
        <span role="columnheader">
          <span className="hidden">Actions</span>
        </span>
      </div>
      <div ref={list} role="rowgroup" className="grid-body" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = inOrder[index];
          if (!row) return null;
          return (
            <div
              key={row.request.id}
              role="row"
              aria-rowindex={index + 2}
              className={props.troublesOf(row).length > 0 ? 'grid-row failing' : 'grid-row'}
              style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)` }}
            >
              <Cells row={row} all={all} {...props} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Cells({
  row,
  all,
  ...props
}: RequestListProps & { row: RequestParent; all: readonly Column<RequestParent>[] }) {
  const { id } = row.request;
  const isStarred = props.starred.has(id);
  const choose = () => {
    const next = new Set(props.chosen);
    if (!next.delete(id)) next.add(id);
    props.choose(next);
  };
  return (
    <>
      <span role="cell" className="marks">
        <input type="checkbox" aria-label={`Choose ${id}`} checked={props.chosen.has(id)} onChange={choose} />
        <button
          type="button"
          className="star"
          aria-label={`Star ${id}`}
          aria-pressed={isStarred}
          onClick={() => props.toggleStar(id)}
        >
          {isStarred ? '★' : '☆'}
        </button>
      </span>
      {all.map((column) => (
        <span key={column.id} role="cell" className={`cell ${column.id}`}>
          {column.cell(row)}
        </span>
      ))}
      <span role="cell" className="marks">
        <MenuButton
          label={`Actions of ${id}`}
          text="⋯"
          choices={props.actionsOf(row).map((action) => ({
            label: action.label,
            onChoose: () => props.act(action),
            isDangerous: action.isDangerous ?? false,
          }))}
        />
      </span>
    </>
  );
}

/** How many instances are healthy of those there should be; of a job, how many run. */
export function Health({ row }: { row: RequestParent }) {
  const health = healthOf(row);
  if (!health) return <span className="faint">…</span>;
  if (!isLongRunning(row.request.requestType))
    return <span>{health.healthy > 0 ? `${health.healthy} running` : '–'}</span>;
  if (row.state === 'PAUSED' || row.state === 'FINISHED') return <span className="faint">–</span>;
  const tone = health.healthy >= health.wanted ? 'good' : health.healthy === 0 ? 'bad' : 'warn';
  return (
    <Mark tone={row.requestDeployState?.activeDeploy ? tone : 'off'}>
      {health.healthy} of {health.wanted}
    </Mark>
  );
}

function Deploy({ row }: { row: RequestParent }) {
  const { activeDeploy, pendingDeploy } = row.requestDeployState ?? {};
  if (!activeDeploy && !pendingDeploy) return <span className="faint">none</span>;
  return (
    <>
      {activeDeploy && <DeployLink requestId={row.request.id} deployId={activeDeploy.deployId} />}
      {pendingDeploy && (
        <>
          {' → '}
          <DeployLink requestId={row.request.id} deployId={pendingDeploy.deployId} />
        </>
      )}{' '}
      <span className="faint">{deployUser(row)}</span>
    </>
  );
}
