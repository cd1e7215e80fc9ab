import { useDeferredValue, useMemo, useState } from 'react';
import { muster } from '../../api';
import { openAction } from '../../actions/action';
import { requestActions } from '../../actions/request-actions';
import { useRequests } from '../../live/requests';
import { troublesOf } from '../../live/troubles';
import { useTroubles } from '../../live/use-troubles';
import { Failure, Loading, useRead } from '../../ui/read';
import { Go, useFilters } from '../../ui/links';
import { requestTypes, wordOf } from '../../ui/words';
import { view } from '../../view';
import { useRefusal, useWhoCalls } from '../../live/rights';
import { filtered, type Context, type Filters } from './filter';
import { RequestList, requestColumns } from './request-list';
import { useStars } from './stars';
import { Bulk } from './bulk';
import { Heading } from '../../ui/heading';
import { Views } from '../../ui/views';
import { useColumns } from '../../ui/columns';

const states = ['ACTIVE', 'SYSTEM_COOLDOWN', 'PAUSED', 'FINISHED', 'DEPLOYING_TO_UNPAUSE', 'DELETING'] as const;
const derived = [
  ['failing', 'Failing'],
  ['deploying', 'Deploying'],
  ['pending', 'Pending'],
  ['cleaning', 'Cleaning'],
  ['activeDeploy', 'With an active deploy'],
  ['noDeploy', 'Without a deploy'],
  ['cpuOver', 'Uses more CPU than reserved'],
  ['cpuUnder', 'Uses less than half of its CPU'],
  ['memoryUnder', 'Uses less than half of its memory'],
  ['diskUnder', 'Uses less than half of its disk'],
] as const;

const noIds: ReadonlySet<string> = new Set();
const idsOf = (entries: readonly { requestId: string }[] | undefined): ReadonlySet<string> =>
  entries === undefined ? noIds : new Set(entries.map(({ requestId }) => requestId));

export function RequestsPage() {
  const [filters, setFilters] = useFilters() as readonly [
    Filters & Record<string, string | undefined>,
    ReturnType<typeof useFilters>[1],
  ];
  const { rows, loaded, failure, retry } = useRequests();
  const troubles = useTroubles();
  const { starred, toggle } = useStars();
  const who = useWhoCalls();
  const pending = useRead(['tasks', 'queued'], () => muster.requests.queuedPending({}), {
    enabled: filters.state === 'pending',
  });
  const cleaning = useRead(['tasks', 'cleanup'], () => muster.requests.queuedCleanup({}), {
    enabled: filters.state === 'cleaning',
  });
  const isByUse = /(Over|Under)$/.test(filters.state ?? '');
  const usage = useRead(['usage', 'requests'], () => muster.usage.requests({}), { enabled: isByUse, everyMs: 60_000 });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(noIds);

  const context = useMemo<Context>(
    () => ({
      starred,
      groups: new Set(who.data?.user?.groups),
      pending: idsOf(pending.data),
      cleaning: idsOf(cleaning.data),
      usage: new Map(usage.data?.map((each) => [each.requestId, each])),
      troublesOf: (parent) => troublesOf(parent, troubles),
    }),
    [starred, who.data, pending.data, cleaning.data, usage.data, troubles],
  );
  const columns = useMemo(() => requestColumns(context.troublesOf), [context]);
  const { shown: shownColumns, menu: columnMenu } = useColumns('requests', columns);
  const wanted = useDeferredValue(filters);
  const shown = useMemo(() => filtered(rows, wanted, context), [rows, wanted, context]);
  const failing = useMemo(() => rows.filter((row) => context.troublesOf(row).length > 0).length, [rows, context]);
  const deploying = useMemo(() => rows.filter((row) => row.requestDeployState?.pendingDeploy).length, [rows]);
  const groups = useMemo(() => [...new Set(rows.flatMap(({ request }) => request.group ?? []))].sort(), [rows]);
  const isFiltered = Object.entries(filters).some(([name, value]) => !['tz', 'sort', 'cols'].includes(name) && value);

  return (
    <>
      <div className="head">
        <Heading>Requests</Heading>
        <p className="figures" role="status">
          {loaded && (isFiltered ? `${shown.length} of ${rows.length}` : `${rows.length}`)}
        </p>
        <Quick
          label="Mine"
          on={filters.mine !== undefined}
          onClick={() => setFilters({ mine: filters.mine ? undefined : 'true' })}
        />
        <Quick
          label={`Failing ${failing}`}
          tone={failing > 0 ? 'bad' : undefined}
          on={filters.state === 'failing'}
          onClick={() => setFilters({ state: filters.state === 'failing' ? undefined : 'failing' })}
        />
        <Quick
          label={`Deploying ${deploying}`}
          on={filters.state === 'deploying'}
          onClick={() => setFilters({ state: filters.state === 'deploying' ? undefined : 'deploying' })}
        />
        <Views />
        <span className="grow" />
        {!view.hideNewRequestButton && <NewRequest />}
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          placeholder="Id or who deployed it; MyS, my*service"
          aria-label="Search requests"
          value={filters.q ?? ''}
          onChange={(event) => setFilters({ q: event.target.value })}
        />
        <Choice
          label="State"
          value={filters.state}
          onChange={(state) => setFilters({ state })}
          choices={[...states.map((state) => [state, wordOf('request', state).text] as const), ...derived]}
        />
        <Choice
          label="Type"
          value={filters.type}
          onChange={(type) => setFilters({ type })}
          choices={Object.entries(requestTypes)}
        />
        {groups.length > 0 && (
          <Choice
            label="Group"
            value={filters.group}
            onChange={(group) => setFilters({ group })}
            choices={groups.map((group) => [group, group] as const)}
          />
        )}
        {isFiltered && (
          <button
            type="button"
            className="quiet"
            onClick={() =>
              setFilters({ q: undefined, state: undefined, type: undefined, group: undefined, mine: undefined })
            }
          >
            Clear filters
          </button>
        )}
        <span className="grow" />
        {columnMenu}
      </form>
      {failure !== undefined && <Failure cause={failure} retry={retry} />}
      {!loaded && failure === undefined && <Loading />}
      {loaded && shown.length === 0 && (
        <p className="empty">
          {rows.length === 0
            ? 'There are no requests. A request describes a service or job to run: create the first one.'
            : 'No request matches. Clear the filters to see all.'}
        </p>
      )}
      {loaded && shown.length > 0 && (
        <RequestList
          rows={shown}
          columns={columns}
          shown={shownColumns}
          keepsOrder={Boolean(filters.q)}
          sortText={filters['sort']}
          onSort={(sort) => setFilters({ sort })}
          starred={starred}
          toggleStar={toggle}
          chosen={chosen}
          choose={setChosen}
          troublesOf={context.troublesOf}
          actionsOf={requestActions}
          act={openAction.set.bind(openAction)}
        />
      )}
      {chosen.size > 0 && <Bulk ids={[...chosen]} all={shown} choose={setChosen} />}
    </>
  );
}

function NewRequest() {
  const refusal = useRefusal('new request');
  if (refusal !== undefined)
    return (
      <button type="button" disabled title={refusal}>
        New request
      </button>
    );
  return (
    <Go to="/requests/new" className="button">
      New request
    </Go>
  );
}

function Quick(props: { label: string; on: boolean; onClick: () => void; tone?: 'bad' | undefined }) {
  return (
    <button type="button" className={`chip ${props.tone ?? ''}`} aria-pressed={props.on} onClick={props.onClick}>
      {props.label}
    </button>
  );
}

function Choice(props: {
  label: string;
  value: string | undefined;
  choices: readonly (readonly [value: string, label: string])[];
  onChange: (value: string | undefined) => void;
}) {
  return (
    <select
      aria-label={props.label}
      value={props.value ?? ''}
      onChange={(event) => props.onChange(event.target.value || undefined)}
    >
      <option value="">{props.label}: all</option>
      {props.choices.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
