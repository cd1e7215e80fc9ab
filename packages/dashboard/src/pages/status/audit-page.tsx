import type { AuditEntry } from 'muster-client';
import { pageOf } from '../../api';
import { Mark } from '../../ui/badge';
import { DAY_MS } from '../../ui/duration';
import { Heading } from '../../ui/heading';
import { RequestLink, useFilters } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { TimeField } from '../../ui/time-field';

const texts = [
  ['caller', 'Caller'],
  ['requestId', 'Request'],
] as const;
const times = [
  ['from', 'From'],
  ['to', 'To'],
] as const;

/** What was called, with the ids of the call in place of the names that its route has for them. */
const called = ({ operation, path }: AuditEntry): string =>
  `${operation.split(' ')[0]!} ${path.split('?')[0]!.replace(/^\/api\//, '')}`;

const columns: readonly Column<AuditEntry>[] = [
  { id: 'at', title: 'When', cell: ({ at }) => <Time at={at} /> },
  { id: 'who', title: 'Who', cell: ({ caller }) => caller ?? <span className="faint">not known</span> },
  {
    id: 'from',
    title: 'From',
    cell: ({ address, provenBy }) => (
      <>
        {address} {provenBy !== undefined && <span className="faint">by {provenBy.toLowerCase()}</span>}
      </>
    ),
  },
  { id: 'what', title: 'What', cell: (entry) => <code title={entry.operation}>{called(entry)}</code> },
  {
    id: 'request',
    title: 'Request',
    cell: ({ requestId }) => requestId !== undefined && <RequestLink id={requestId} />,
  },
  {
    id: 'outcome',
    title: 'Outcome',
    cell: ({ outcome, status }) => (
      <Mark tone={outcome === 'REFUSED' ? 'bad' : (status ?? 500) < 400 ? 'good' : 'warn'}>
        {outcome === 'REFUSED' ? 'refused' : 'allowed'}, {status ?? 'no answer'}
      </Mark>
    ),
  },
  { id: 'why', title: 'Why not', cell: ({ reason }) => reason },
];

/** Who asked for what, for administrators. The filters are the address. */
export function Page() {
  const [filters, setFilters] = useFilters();
  const { cursor, outcome } = filters;
  const wish = {
    caller: filters['caller'],
    requestId: filters['requestId'],
    outcome: outcome as AuditEntry['outcome'] | undefined,
    from: filters['from'] === undefined ? undefined : Number(filters['from']),
    to: filters['to'] === undefined ? undefined : Number(filters['to']),
    limit: 100,
    cursor,
  };
  const read = useRead(['audit', wish], () => pageOf((muster) => muster.auth.audit(wish)), { isPaged: true });
  const set = (name: string, value: string | undefined) => setFilters({ [name]: value, cursor: undefined });
  return (
    <>
      <div className="head">
        <Heading>Audit</Heading>
        <button
          type="button"
          className="chip"
          onClick={() =>
            setFilters({ outcome: 'REFUSED', from: String(Date.now() - DAY_MS), to: undefined, cursor: undefined })
          }
        >
          Refused in 24 hours
        </button>
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        {texts.map(([name, label]) => (
          <input
            key={name}
            aria-label={label}
            placeholder={label}
            value={filters[name] ?? ''}
            onChange={(event) => set(name, event.target.value)}
          />
        ))}
        <select aria-label="Outcome" value={outcome ?? ''} onChange={(event) => set('outcome', event.target.value)}>
          <option value="">Outcome: all</option>
          <option value="ALLOWED">Allowed</option>
          <option value="REFUSED">Refused</option>
        </select>
        {times.map(([name, label]) => (
          <TimeField key={name} label={label} value={filters[name]} onChange={(value) => set(name, value)} />
        ))}
      </form>
      <Panel of={read}>
        {({ rows, next }) => (
          <>
            <Table
              label="Calls"
              rows={rows}
              columns={columns}
              keyOf={({ callId, at, operation }) => `${callId} ${at} ${operation}`}
              empty="No call matches."
            />
            {(cursor !== undefined || next !== undefined) && (
              <nav className="pager" aria-label="Pages of the table">
                <button
                  type="button"
                  disabled={cursor === undefined}
                  onClick={() => setFilters({ cursor: undefined }, { step: true })}
                >
                  Newest
                </button>
                <button
                  type="button"
                  disabled={next === undefined}
                  onClick={() => setFilters({ cursor: next }, { step: true })}
                >
                  Older
                </button>
              </nav>
            )}
          </>
        )}
      </Panel>
    </>
  );
}
