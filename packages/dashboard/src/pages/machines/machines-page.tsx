import { useMemo } from 'react';
import type { ExpiringMachineState, Slave, SlaveUsageWithId } from 'muster-client';
import { muster } from '../../api';
import type { Action } from '../../actions/action';
import { ActionButton, ActionMenu } from '../../actions/action-button';
import { machineActions } from '../../actions/machine-actions';
import { Badge } from '../../ui/badge';
import { useColumns } from '../../ui/columns';
import { formatBytes, formatNumber } from '../../ui/duration';
import { Go, shortHost, useFilters } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { inWords } from '../../ui/words';
import { Heading } from '../../ui/heading';

interface Row {
  readonly slave: Slave;
  readonly usage: SlaveUsageWithId | undefined;
  readonly expiring: ExpiringMachineState | undefined;
  readonly isMarked: boolean;
}

const sections = [
  ['Active', ['ACTIVE']],
  ['Frozen', ['FROZEN']],
  ['Being decommissioned', ['STARTING_DECOMMISSION', 'DECOMMISSIONING']],
  ['Decommissioned', ['DECOMMISSIONED']],
  ['Dead or missing', ['DEAD', 'MISSING_ON_STARTUP']],
] as const;

const MB = 1024 * 1024;
const ofMegabytes = (mb: number): string => formatBytes(mb * MB);

/** A column of what a machine has, which one chooses. */
function extra<Value extends string | number>(
  id: string,
  title: string,
  of: (slave: Slave) => Value | undefined,
  format: (value: Value) => string,
): Column<Row> {
  const cell = ({ slave }: Row) => {
    const value = of(slave);
    return value === undefined ? '–' : format(value);
  };
  return { id, title, isExtra: true, value: ({ slave }) => of(slave) ?? '', cell };
}

const columns: readonly Column<Row>[] = [
  {
    id: 'host',
    title: 'Machine',
    value: ({ slave }) => slave.host,
    cell: ({ slave, isMarked }) => (
      <>
        <Go to="/tasks" search={{ q: slave.host }}>
          {shortHost(slave.host)}
        </Go>{' '}
        <span className="faint">{slave.id}</span> {isMarked && <span className="faint">marked inactive</span>}
      </>
    ),
  },
  {
    id: 'state',
    title: 'State',
    value: ({ slave }) => slave.currentState.state,
    cell: ({ slave }) => <Badge of="machine" state={slave.currentState.state} />,
  },
  {
    id: 'since',
    title: 'Since',
    value: ({ slave }) => slave.currentState.timestamp,
    cell: ({ slave }) => <Time at={slave.currentState.timestamp} />,
  },
  {
    id: 'user',
    title: 'By',
    value: ({ slave }) => slave.currentState.user ?? '',
    cell: ({ slave }) => slave.currentState.user ?? '',
  },
  { id: 'message', title: 'Message', cell: ({ slave }) => slave.currentState.message ?? '' },
  { id: 'rack', title: 'Rack', value: ({ slave }) => slave.rackId, cell: ({ slave }) => slave.rackId },
  {
    id: 'seen',
    title: 'First seen',
    value: ({ slave }) => slave.firstSeenAt,
    cell: ({ slave }) => <Time at={slave.firstSeenAt} />,
  },
  {
    id: 'tasks',
    title: 'Tasks',
    align: 'end',
    value: ({ usage }) => usage?.numTasks ?? -1,
    cell: ({ usage }) => usage?.numTasks ?? '–',
  },
  {
    id: 'cpu',
    title: 'Cores reserved',
    value: ({ usage }) => share(usage?.cpusReserved, usage?.cpusTotal),
    cell: ({ usage, slave }) => (
      <Share
        used={usage?.cpusReserved}
        of={usage?.cpusTotal ?? slave.resources?.cpus}
        format={formatNumber}
        label="Cores reserved"
      />
    ),
  },
  {
    id: 'memory',
    title: 'Memory reserved',
    value: ({ usage }) => share(usage?.memoryMbReserved, usage?.memoryMbTotal),
    cell: ({ usage, slave }) => (
      <Share
        used={usage?.memoryMbReserved}
        of={usage?.memoryMbTotal ?? slave.resources?.mem}
        format={ofMegabytes}
        label="Memory reserved"
      />
    ),
  },
  {
    id: 'attributes',
    title: 'Attributes',
    cell: ({ slave }) =>
      Object.entries(slave.attributes)
        .map(([name, value]) => `${name}=${value}`)
        .join(', '),
  },
  {
    id: 'ends',
    title: 'Ends',
    cell: ({ expiring }) =>
      expiring && (
        <>
          <Time at={(expiring.startMillis ?? 0) + (expiring.expiringAPIRequestObject?.durationMillis ?? 0)} />, then{' '}
          {inWords(expiring.revertToState ?? '')}
        </>
      ),
  },
  { ...extra('cores', 'Cores', ({ resources }) => resources?.cpus, formatNumber), align: 'end' },
  { ...extra('memory-size', 'Memory', ({ resources }) => resources?.mem, ofMegabytes), align: 'end' },
  { ...extra('disk', 'Disk', ({ resources }) => resources?.disk, ofMegabytes), align: 'end' },
  extra('ports', 'Ports', ({ resources }) => resources?.ports, String),
];

const actions: Column<Row> = {
  id: 'do',
  title: '',
  cell: (row) => <ActionMenu label={`Actions of ${row.slave.host}`} text="⋯" actions={actionsOf(row)} />,
};

/** One for each attribute that a machine has. */
function columnsOf(slaves: readonly Slave[]): readonly Column<Row>[] {
  const names = [...new Set(slaves.flatMap(({ attributes }) => Object.keys(attributes)))].sort();
  const ofAttributes = names.map((name) =>
    extra(`attribute:${encodeURIComponent(name)}`, name, ({ attributes }) => attributes[name], String),
  );
  return [...columns, ...ofAttributes, actions];
}

const share = (used: number | undefined, all: number | undefined): number =>
  used === undefined || !all ? -1 : used / all;

function Share(props: {
  used: number | undefined;
  of: number | undefined;
  format: (value: number) => string;
  label: string;
}) {
  const { used, of, format, label } = props;
  if (used === undefined || !of) return <span className="faint">{of ? format(of) : '–'}</span>;
  return (
    <span className="share">
      <meter min={0} max={of} value={Math.min(used, of)} aria-label={label} /> {format(used)} of {format(of)}
    </span>
  );
}

function actionsOf({ slave, usage, expiring, isMarked }: Row): readonly Action[] {
  const { host } = slave;
  return [
    ...machineActions({
      kind: 'slave',
      id: slave.id,
      state: slave.currentState.state,
      tasks: usage?.numTasks,
      isExpiring: expiring !== undefined,
    }),
    {
      id: 'mark',
      label: isMarked ? 'Take the inactive mark off' : 'Mark as inactive',
      explains: isMarked
        ? `${host} is used again when it comes back.`
        : `${host} is decommissioned, now and whenever a machine of this name comes.`,
      fields: [],
      run: () => (isMarked ? muster.inactive.unmark({ host }) : muster.inactive.mark({ host })),
      done: 'Done',
      outdates: [['machines']],
    },
  ];
}

export function Page() {
  const [{ state, q = '' }, setFilters] = useFilters();
  const read = useRead(
    ['machines', 'page'],
    async () => {
      const [slaves, expiring, inactive, usage] = await Promise.all([
        muster.slaves.list({}),
        muster.slaves.expiring({}),
        muster.inactive.list({}),
        muster.usage.slaves({}),
      ]);
      return {
        slaves,
        expiring,
        inactive: new Set(inactive),
        usage: new Map(usage.map((each) => [each.slaveId, each])),
      };
    },
    { everyMs: 30_000 },
  );
  const all = useMemo(() => columnsOf(read.data?.slaves ?? []), [read.data]);
  const { shown, menu } = useColumns('machines', all);
  return (
    <>
      <div className="head">
        <Heading>Machines</Heading>
        <Go to="/racks">Racks</Go>
        <Go to="/utilization">Utilization</Go>
        <span className="grow" />
        <ActionButton action={clearDead} label="Remove dead ones" />
        <ActionButton action={clearMarks} />
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Search machines"
          placeholder="Name, rack or attribute"
          value={q}
          onChange={(event) => setFilters({ q: event.target.value })}
        />
        <span className="grow" />
        {menu}
      </form>
      <Panel of={read}>
        {({ slaves, expiring, inactive, usage }) => {
          const rows = slaves
            .filter((slave) => !state || slave.currentState.state === state)
            .filter((slave) => matches(slave, q))
            .map((slave) => ({
              slave,
              usage: usage.get(slave.id),
              expiring: expiring.find(({ machineId }) => machineId === slave.id),
              isMarked: inactive.has(slave.host),
            }));
          if (rows.length === 0) return <p className="empty">No machine {q || state ? 'matches.' : 'has come yet.'}</p>;
          return sections.map(([title, states]) => {
            const inSection = rows.filter(({ slave }) =>
              (states as readonly string[]).includes(slave.currentState.state),
            );
            if (inSection.length === 0) return null;
            return (
              <section key={title} className="machines">
                <h2>
                  {title} <span className="faint">{inSection.length}</span>
                </h2>
                <Table label={title} rows={inSection} columns={shown} keyOf={({ slave }) => slave.id} empty="None." />
              </section>
            );
          });
        }}
      </Panel>
    </>
  );
}

const matches = (slave: Slave, q: string): boolean =>
  [slave.host, slave.id, slave.rackId, ...Object.entries(slave.attributes).map((pair) => pair.join('='))].some((text) =>
    text.toLowerCase().includes(q.trim().toLowerCase()),
  );

const clearDead: Action = {
  id: 'remove-dead',
  needs: 'administrator',
  label: 'Remove dead machines',
  isDangerous: true,
  explains: 'Removes the records of all machines that are dead. They come back when the machines do.',
  fields: [],
  typed: 'dead',
  run: () => muster.slaves.removeDead({}),
  done: 'Dead machines are removed',
  outdates: [['machines'], ['state']],
};

const clearMarks: Action = {
  id: 'clear-marks',
  needs: 'administrator',
  label: 'Clear inactive marks',
  explains: 'No host is marked as inactive any more.',
  fields: [],
  run: () => muster.inactive.unmarkAll({}),
  done: 'No host is marked',
  outdates: [['machines']],
};
