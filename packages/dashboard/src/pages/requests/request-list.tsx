import { useEffect, useMemo, useRef, useSyncExternalStore, type CSSProperties } from 'react';
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
/** Of a list without some of its columns, the others have these widths; the first are marks, the last is the menu. */
const widths: Readonly<Record<string, string>> = {
  id: 'minmax(9rem, 1.6fr)',
  type: '6.5rem',
  state: 'minmax(9rem, 2.4fr)',
  health: '7rem',
  deploy: 'minmax(8rem, 1.1fr)',
  deployed: '7.5rem',
  group: 'minmax(6rem, 0.7fr)',
};

/** The width below which styles/parts.css makes cards of rows. */
const narrow = matchMedia('(max-width: 720px)');

function watchNarrow(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

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
  readonly columns: readonly Column<RequestParent>[];
  /** Those of the columns that are shown. */
  readonly shown: readonly Column<RequestParent>[];
}

const sortOf = (text: string | undefined): Sort | undefined =>
  text === undefined ? undefined : { by: text.replace(/^-/, ''), descending: text.startsWith('-') };

const deployedAt = (row: RequestParent): number => row.requestDeployState?.activeDeploy?.timestamp ?? 0;

export const requestColumns = (troublesOf: RequestListProps['troublesOf']): readonly Column<RequestParent>[] => [
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
    // Nobody hides what is wrong.
    isFixed: true,
    value: (row) => `${troublesOf(row).length > 0 ? 0 : 1}${wordOf('request', row.state).text}`,
    cell: (row) => <RequestStateMark row={row} troubles={troublesOf(row)} />,
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
  const { sortText, keepsOrder, rows, columns, shown } = props;
  const sort = sortOf(sortText) ?? (keepsOrder ? undefined : { by: 'id', descending: false });
  const inOrder = useMemo(() => sorted(rows, columns, sort), [rows, columns, sort?.by, sort?.descending]);
  const list = useRef<HTMLDivElement>(null);
  const virtual = useWindowVirtualizer({
    count: inOrder.length,
    estimateSize: () => ROW,
    overscan: 12,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  // There a row is as high as its text.
  const isNarrow = useSyncExternalStore(watchNarrow, () => narrow.matches);
  useEffect(() => virtual.measure(), [virtual, isNarrow]);
  const items = virtual.getVirtualItems();
  const seen = items.map(({ index }) => inOrder[index]?.request.id ?? '').join('\n');
  useEffect(() => {
    if (seen !== '') requests.see(seen.split('\n'));
  }, [seen, rows.length]);

  const grid = { '--columns': shown.map(({ id }) => widths[id]).join(' ') } as CSSProperties;
  return (
    <div role="table" aria-label="Requests" aria-rowcount={inOrder.length + 1} className="grid" style={grid}>
      <div role="row" aria-rowindex={1} className="grid-head">
        <span role="columnheader">
          <span className="hidden">Chosen and starred</span>
        </span>
        {shown.map(({ id, title }) => (
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
              ref={isNarrow ? virtual.measureElement : undefined}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              className={props.troublesOf(row).length > 0 ? 'grid-row failing' : 'grid-row'}
              style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)` }}
            >
              <Cells row={row} {...props} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Cells({ row, ...props }: RequestListProps & { row: RequestParent }) {
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
      {props.shown.map((column) => (
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
