import { useMemo } from 'react';
import type { UpcomingRuns } from 'muster-client';
import { useRequests } from '../../live/requests';
import { DAY_MS } from '../../ui/duration';
import { Heading } from '../../ui/heading';
import { Views } from '../../ui/views';
import { Go, RequestLink, paths, useFilters } from '../../ui/links';
import { Panel } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time, useNow, useZone } from '../../ui/time';
import { formatTime } from '../../ui/time-format';
import { Mark } from '../../ui/badge';
import type { Tone } from '../../ui/words';
import { matcherOf } from '../../ui/find';
import { LaneRow } from './lane-row';
import { crowding, crowds, summary, type Kind, type Mark as LaneMark, type Window } from './lanes';
import { type Lane, lanesOf, nothingKnown, type Past, usePast, usePlanned } from './reads';
import { counted } from '../../ui/words';

/** The window moves on in these steps while no times are in the address. */
const STEP_MS = 300_000;
/** Lanes and rows on one page; a search narrows them. */
const SHOWN = 100;
const PARTS = 96;

const spans = [
  ['24 hours', DAY_MS],
  ['7 days', 7 * DAY_MS],
] as const;

const tones: Readonly<Record<Kind, Tone>> = {
  failed: 'bad',
  skipped: 'warn',
  late: 'warn',
  running: 'busy',
  done: 'good',
  planned: 'unknown',
};

/** A quarter of it lies behind. */
const around = (now: number, span: number): Window => ({ from: now - span / 4, to: now + (span * 3) / 4 });

function windowOf(filters: Readonly<Record<string, string | undefined>>, now: number): Window {
  const [from, to] = [Number(filters['from']), Number(filters['to'])];
  if (from > 0 && to > from && to - from <= 366 * DAY_MS) return { from, to };
  return around(Math.floor(now / STEP_MS) * STEP_MS, filters['span'] === '7d' ? 7 * DAY_MS : DAY_MS);
}

/** When schedules run, did run and did not: a lane for each request. The times are the address. */
export function Page() {
  const [filters, setFilters] = useFilters();
  const now = useNow(10_000);
  const window = windowOf(filters, now);
  const { requestId, q = '' } = filters;
  const planned = usePlanned(window, requestId);
  const past = usePast(window, requestId);
  const span = window.to - window.from;
  const move = (by: number) =>
    setFilters({ from: String(window.from + by), to: String(window.to + by), span: undefined }, { step: true });
  return (
    <>
      <div className="head">
        <Heading>Schedules</Heading>
        <Views />
        {spans.map(([text, ms]) => (
          <button
            key={text}
            type="button"
            className="chip"
            aria-pressed={span === ms}
            onClick={() =>
              setFilters({ from: undefined, to: undefined, span: ms === DAY_MS ? undefined : '7d' }, { step: true })
            }
          >
            {text}
          </button>
        ))}
        <button type="button" onClick={() => move(-span / 2)}>
          Earlier
        </button>
        <button type="button" onClick={() => move(span / 2)}>
          Later
        </button>
        {requestId !== undefined && (
          <>
            <RequestLink id={requestId} />
            <Go to="/schedules">All schedules</Go>
          </>
        )}
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Search schedules"
          placeholder="Id"
          value={q}
          onChange={(event) => setFilters({ q: event.target.value })}
        />
      </form>
      <Panel of={planned}>
        {(found) => (
          <>
            {!found.isComplete && (
              <p className="notice warn">
                There are more runs than a page can show: these are the earliest. Choose a shorter time or one request.
              </p>
            )}
            <Lanes planned={found} past={past.data ?? nothingKnown} window={window} q={q} now={now} />
          </>
        )}
      </Panel>
      {past.isError && <Panel of={past}>{() => null}</Panel>}
    </>
  );
}

function Lanes(props: { planned: UpcomingRuns; past: Past; window: Window; q: string; now: number }) {
  const { planned, past, window, q, now } = props;
  const { rows } = useRequests();
  const parents = useMemo(
    () =>
      new Map(rows.filter(({ request }) => request.requestType === 'SCHEDULED').map((row) => [row.request.id, row])),
    [rows],
  );
  const all = useMemo(() => lanesOf(planned, past, parents, now), [planned, past, parents, now]);
  const lanes = useMemo(() => {
    const match = matcherOf(q);
    return all.filter(({ requestId }) => match(requestId) !== undefined);
  }, [all, q]);
  const ahead = lanes.flatMap(({ marks }) => marks.filter(({ kind }) => kind === 'planned'));
  const minutes = crowds(ahead.map(({ at }) => at));
  if (lanes.length === 0) return <p className="empty">No schedule runs in this time.</p>;
  const [fullest] = minutes;
  const { from, to } = window;
  return (
    <>
      <p className="figures" role="status">
        {lanes.length > SHOWN
          ? `The first ${SHOWN} of ${lanes.length}; a search narrows them`
          : counted(lanes.length, 'schedule')}
        {fullest && fullest.runs > 1 && (
          <>
            , at most {fullest.runs} runs begin in one minute: <Time at={fullest.at} />
          </>
        )}
      </p>
      {past.isRefused && (
        <p className="notice">
          Runs that have been are shown to those who may read all requests; of one request to its readers.
        </p>
      )}
      {past.knownSince > window.from && Number.isFinite(past.knownSince) && (
        <p className="notice">
          Of the runs that have been the last ones are known, since <Time at={past.knownSince} />.
        </p>
      )}
      <div className="lanes">
        <Scale window={window} />
        <Crowding parts={crowding(minutes, from, to, PARTS)} most={fullest?.runs ?? 0} />
        <ul>
          {lanes.slice(0, SHOWN).map((lane) => (
            <LaneRow key={lane.requestId} lane={lane} window={window} now={now} parent={parents.get(lane.requestId)} />
          ))}
        </ul>
      </div>
      <details>
        <summary>As a table</summary>
        <MarkTable lanes={lanes} />
      </details>
    </>
  );
}

function Scale({ window: { from, to } }: { window: Window }) {
  const ticks = Array.from({ length: 9 }, (_tick, index) => from + ((to - from) * index) / 8);
  return (
    <div className="scale" aria-hidden="true">
      {ticks.slice(0, 8).map((at) => (
        <Tick key={at} at={at} />
      ))}
    </div>
  );
}

const Tick = ({ at }: { at: number }) => <span>{formatTime(at, 'MM-DD HH:mm', useZone())}</span>;

function Crowding({ parts, most }: { parts: readonly number[]; most: number }) {
  if (most === 0) return null;
  const label = `Runs that begin in one minute: at most ${most}`;
  return (
    <svg className="crowding" viewBox={`0 0 ${PARTS} 20`} preserveAspectRatio="none" role="img" aria-label={label}>
      {parts.map((runs, index) => (
        // Parts of the window have no id, and their number stays.
        <rect key={index} x={index} width={0.8} y={20 - (20 * runs) / most} height={(20 * runs) / most} />
      ))}
    </svg>
  );
}

interface MarkRow extends LaneMark {
  readonly requestId: string;
  readonly timeZone: string | undefined;
}

const columns: readonly Column<MarkRow>[] = [
  { id: 'at', title: 'When', value: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  {
    id: 'request',
    title: 'Request',
    value: ({ requestId }) => requestId,
    cell: ({ requestId }) => <RequestLink id={requestId} />,
  },
  {
    id: 'what',
    title: 'What',
    value: ({ kind }) => kind,
    cell: ({ kind, text }) => <Mark tone={tones[kind]}>{text}</Mark>,
  },
  {
    id: 'zone',
    title: 'Zone of the schedule',
    value: ({ timeZone = '' }) => timeZone,
    cell: ({ timeZone }) => timeZone ?? '',
  },
  {
    id: 'task',
    title: 'Task',
    cell: ({ taskId }) => taskId !== undefined && <Go to={paths.task(taskId)}>{taskId}</Go>,
  },
];

const ROWS = 500;

function MarkTable({ lanes }: { lanes: readonly Lane[] }) {
  const rows = lanes
    .flatMap(({ requestId, timeZone, marks }) => marks.map((mark): MarkRow => ({ ...mark, requestId, timeZone })))
    .sort((a, b) => a.at - b.at);
  return (
    <>
      <p className="figures">{rows.length > ROWS ? `The first ${ROWS} of ${rows.length}` : summary(rows)}</p>
      <Table
        label="Runs"
        rows={rows.slice(0, ROWS)}
        columns={columns}
        keyOf={({ requestId, at, taskId = '' }) => `${requestId} ${at} ${taskId}`}
        empty="No schedule runs in this time."
      />
    </>
  );
}
