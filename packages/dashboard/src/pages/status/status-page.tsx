import type { HostState, PendingTaskId, State } from 'muster-client';
import { useClusterState } from '../../shell/banners';
import { Mark } from '../../ui/badge';
import { formatDuration, formatNumber } from '../../ui/duration';
import { DeployLink, Go, RequestLink } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Lasted, Time } from '../../ui/time';
import { inWords } from '../../ui/words';
import { muster } from '../../api';
import { Why } from '../request/tasks-tab';
import { Heading } from '../../ui/heading';

interface Figure {
  readonly label: string;
  readonly value: number;
  readonly to?: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly isBad?: boolean;
}

const requestFigures = (state: State): readonly Figure[] => [
  { label: 'Active', value: state.activeRequests, to: '/requests', search: { state: 'ACTIVE' } },
  { label: 'Paused', value: state.pausedRequests, to: '/requests', search: { state: 'PAUSED' } },
  {
    label: 'Cooling down',
    value: state.cooldownRequests,
    to: '/requests',
    search: { state: 'SYSTEM_COOLDOWN' },
    isBad: state.cooldownRequests > 0,
  },
  { label: 'Finished', value: state.finishedRequests, to: '/requests', search: { state: 'FINISHED' } },
  { label: 'Pending', value: state.pendingRequests, to: '/requests', search: { state: 'pending' } },
  { label: 'Cleaning', value: state.cleaningRequests, to: '/requests', search: { state: 'cleaning' } },
  {
    label: 'Too few instances',
    value: state.underProvisionedRequests,
    to: '/requests',
    search: { state: 'failing' },
    isBad: state.underProvisionedRequests > 0,
  },
  { label: 'Too many instances', value: state.overProvisionedRequests },
];

const taskFigures = (state: State): readonly Figure[] => [
  { label: 'Active', value: state.activeTasks, to: '/tasks', search: { state: 'active' } },
  { label: 'Starting', value: state.launchingTasks },
  { label: 'Scheduled', value: state.scheduledTasks, to: '/tasks', search: { state: 'scheduled' } },
  { label: 'Late', value: state.lateTasks, to: '/tasks', search: { state: 'scheduled' }, isBad: state.lateTasks > 0 },
  { label: 'In the future', value: state.futureTasks },
  { label: 'Being ended', value: state.cleaningTasks, to: '/tasks', search: { state: 'cleaning' } },
  { label: 'Leaving the load balancer', value: state.lbCleanupTasks, to: '/tasks', search: { state: 'lbcleanup' } },
];

const machineFigures = (state: State): readonly Figure[] => [
  { label: 'Active machines', value: state.activeSlaves, to: '/slaves', search: { state: 'ACTIVE' } },
  {
    label: 'Machines being decommissioned',
    value: state.decommissioningSlaves,
    to: '/slaves',
    search: { state: 'DECOMMISSIONING' },
  },
  {
    label: 'Dead machines',
    value: state.deadSlaves,
    to: '/slaves',
    search: { state: 'DEAD' },
    isBad: state.deadSlaves > 0,
  },
  { label: 'Frozen or missing machines', value: state.unknownSlaves, to: '/slaves' },
  { label: 'Active racks', value: state.activeRacks, to: '/racks', search: { state: 'ACTIVE' } },
  { label: 'Racks being decommissioned', value: state.decommissioningRacks, to: '/racks' },
  { label: 'Dead racks', value: state.deadRacks, to: '/racks', isBad: state.deadRacks > 0 },
];

const hostColumns: readonly Column<HostState>[] = [
  {
    id: 'host',
    title: 'Instance',
    value: ({ hostname }) => hostname,
    cell: ({ hostname, hostAddress }) => (
      <>
        {hostname} <span className="faint">{hostAddress}</span>
      </>
    ),
  },
  {
    id: 'role',
    title: 'Role',
    cell: ({ master }) => <Mark tone={master ? 'good' : 'off'}>{master ? 'leads' : 'waits'}</Mark>,
  },
  { id: 'driver', title: 'Client of the cluster', cell: ({ driverStatus }) => inWords(driverStatus) },
  {
    id: 'connected',
    title: 'Cluster',
    cell: ({ clusterConnected }) => (
      <Mark tone={clusterConnected ? 'good' : 'bad'}>{clusterConnected ? 'connected' : 'not connected'}</Mark>
    ),
  },
  {
    id: 'uptime',
    title: 'Up',
    align: 'end',
    value: ({ uptime }) => uptime,
    cell: ({ uptime }) => formatDuration(uptime),
  },
  {
    id: 'offer',
    title: 'Last offer',
    cell: ({ millisSinceLastOffer }) =>
      millisSinceLastOffer === undefined ? '–' : `${formatDuration(millisSinceLastOffer)} ago`,
  },
  {
    id: 'cache',
    title: 'Offers kept',
    cell: (host) =>
      `${host.offerCacheSize}: ${formatNumber(host.availableCachedCpus)} cores, ${formatNumber(host.availableCachedMemory)} MB`,
  },
];

const lateColumns: readonly Column<PendingTaskId>[] = [
  {
    id: 'request',
    title: 'Request',
    value: ({ requestId }) => requestId,
    cell: ({ requestId }) => <RequestLink id={requestId} />,
  },
  {
    id: 'due',
    title: 'Was due',
    value: ({ nextRunAt }) => nextRunAt,
    cell: ({ nextRunAt }) => <Time at={nextRunAt} />,
  },
  { id: 'why', title: 'Why it waits', cell: ({ id }) => <Why id={id} /> },
];

export function Page() {
  const state = useClusterState();
  const reconciliation = useRead(
    ['state', 'reconciliation'],
    () => muster.state.lastReconciliation({}).catch(() => null),
    { everyMs: 60_000 },
  );
  return (
    <>
      <Heading>Status</Heading>
      <Panel of={state}>
        {(figures) => (
          <>
            <div className="figure-sections">
              <Figures title="Requests" figures={requestFigures(figures)} />
              <Figures title="Tasks" figures={taskFigures(figures)} />
              <Figures title="Machines and racks" figures={machineFigures(figures)} />
            </div>
            <h2>Deploys in progress</h2>
            {figures.activeDeploys.length === 0 ? (
              <p className="empty">None.</p>
            ) : (
              <>
                <p>
                  {figures.numDeploys}, the oldest for {formatDuration(figures.oldestDeploy)}; its step for{' '}
                  {formatDuration(figures.oldestDeployStep)}
                </p>
                <ul>
                  {figures.activeDeploys.map(({ requestId, deployId, timestamp, user }) => (
                    <li key={`${requestId} ${deployId}`}>
                      <RequestLink id={requestId} /> <DeployLink requestId={requestId} deployId={deployId} />{' '}
                      <Lasted from={timestamp} /> {user}
                    </li>
                  ))}
                </ul>
              </>
            )}
            <h2>Late tasks</h2>
            <Table
              label="Late tasks"
              rows={[...figures.listLateTasks, ...figures.onDemandListLateTasks]}
              columns={lateColumns}
              keyOf={({ id }) => id}
              empty="No task is late."
            />
            <h2>Instances of the service</h2>
            <Table
              label="Instances"
              rows={figures.hostStates}
              columns={hostColumns}
              keyOf={({ hostname, hostAddress }) => `${hostname} ${hostAddress}`}
              empty="No instance tells of itself."
            />
            <p className="faint">
              Status updates take {formatDuration(figures.avgStatusUpdateDelayMs)} on average. As of{' '}
              <Time at={figures.generatedAt} />.
              {reconciliation.data && (
                <> Last reconciliation took {formatDuration(reconciliation.data.taskReconciliationDurationMillis)}.</>
              )}
            </p>
          </>
        )}
      </Panel>
    </>
  );
}

/** A bar for each figure, as long as its part of the largest one. */
function Figures({ title, figures }: { title: string; figures: readonly Figure[] }) {
  const most = Math.max(1, ...figures.map(({ value }) => value));
  return (
    <section>
      <h2>{title}</h2>
      <ul className="bars">
        {figures.map(({ label, value, to, search, isBad }, index) => (
          <li key={`${label} ${index}`} className={isBad ? 'bad' : undefined}>
            {to === undefined ? (
              <span>{label}</span>
            ) : (
              <Go to={to} {...(search && { search })}>
                {label}
              </Go>
            )}
            <meter min={0} max={most} value={value} aria-label={label} />
            <span>{value}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
