import { useMemo, useState } from 'react';
import { enumerations, type Event } from 'muster-client';
import { activity, MOST_KEPT, readKept } from '../../live/activity';
import { textOf } from '../../live/event-text';
import { useSignal } from '../../live/signal';
import { together, type Told } from '../../live/told';
import { Mark } from '../../ui/badge';
import { Heading } from '../../ui/heading';
import { DeployLink, Go, paths, RequestLink, useFilters } from '../../ui/links';
import { Failure } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { inWords } from '../../ui/words';

const SHOWN = 500;

const columns: readonly Column<Told>[] = [
  { id: 'at', title: 'When', value: ({ event }) => event.at, cell: ({ event }) => <Time at={event.at} /> },
  { id: 'type', title: 'Of', value: ({ event }) => event.type, cell: ({ event }) => inWords(event.type) },
  { id: 'about', title: 'About', cell: ({ event }) => <About event={event} /> },
  { id: 'what', title: 'What', cell: ({ event }) => <Mark tone={textOf(event).tone}>{textOf(event).text}</Mark> },
  { id: 'by', title: 'By', value: ({ event }) => event.user ?? '', cell: ({ event }) => event.user ?? '' },
];

function About({ event: { requestId, deployId, taskId, machineId } }: { event: Event }) {
  if (machineId !== undefined) return <>{machineId}</>;
  if (requestId === undefined) return null;
  return (
    <>
      <RequestLink id={requestId} />{' '}
      {taskId !== undefined ? (
        <Go to={paths.task(taskId)}>{taskId}</Go>
      ) : (
        deployId !== undefined && <DeployLink requestId={requestId} deployId={deployId} />
      )}
    </>
  );
}

/** What happens, as it happens. */
export function Page() {
  const [{ type = '', requestId = '' }, setFilters] = useFilters();
  const live = useSignal(activity);
  const [held, setHeld] = useState<readonly Told[]>();
  const [kept, setKept] = useState<readonly Told[]>([]);
  const [isReading, setReading] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const rows = useMemo(
    () =>
      together(held ?? live, kept).filter(
        ({ event }) => (type === '' || event.type === type) && (requestId === '' || event.requestId === requestId),
      ),
    [held, live, kept, type, requestId],
  );
  const read = () => {
    setReading(true);
    setFailure(undefined);
    readKept({
      ...(type !== '' && { type: [type as Event['type']] }),
      ...(requestId !== '' && { requestId: [requestId] }),
    })
      .then(setKept, setFailure)
      .finally(() => setReading(false));
  };
  return (
    <>
      <div className="head">
        <Heading>Activity</Heading>
        <p className="figures" role="status">
          {rows.length > SHOWN ? `The newest ${SHOWN} of ${rows.length}` : rows.length}
        </p>
        <button type="button" aria-pressed={held !== undefined} onClick={() => setHeld(held ? undefined : live)}>
          {held ? `Go on (${live.filter((told) => !held.includes(told)).length} new)` : 'Pause'}
        </button>
        <button type="button" disabled={isReading} onClick={read}>
          {isReading ? 'Reading' : 'Show what is kept'}
        </button>
        <button type="button" disabled={rows.length === 0} onClick={() => save(rows)}>
          Download
        </button>
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <select aria-label="Type" value={type} onChange={(event) => setFilters({ type: event.target.value })}>
          <option value="">Type: all</option>
          {enumerations.EventType.map((each) => (
            <option key={each} value={each}>
              {inWords(each)}
            </option>
          ))}
        </select>
        <input
          aria-label="Request"
          placeholder="Request"
          value={requestId}
          onChange={(event) => setFilters({ requestId: event.target.value })}
        />
      </form>
      {failure !== undefined && <Failure cause={failure} retry={read} />}
      {kept.length >= MOST_KEPT && <p className="notice">Of what is kept these are the oldest {MOST_KEPT}.</p>}
      <Table
        label="What happened"
        rows={rows.slice(0, SHOWN)}
        columns={columns}
        keyOf={({ id }) => id}
        empty="Nothing has happened since this page was opened. What happened before may be kept."
      />
    </>
  );
}

/** One event a line, as JSON. */
function save(rows: readonly Told[]): void {
  const text = rows.map(({ id, event }) => JSON.stringify({ id, ...event })).join('\n');
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: 'application/x-ndjson' }));
  Object.assign(document.createElement('a'), { href: url, download: 'activity.ndjson' }).click();
  URL.revokeObjectURL(url);
}
