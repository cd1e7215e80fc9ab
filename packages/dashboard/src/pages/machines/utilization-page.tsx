import type { ClusterUtilization, SlaveUsageWithId } from 'muster-client';
import { muster } from '../../api';
import { formatBytes, formatNumber } from '../../ui/duration';
import { Go, RequestLink, shortHost, useFilters } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Use } from '../../ui/use';
import { view } from '../../view';
import { Heading } from '../../ui/heading';
import { counted } from '../../ui/words';

interface Measure {
  readonly label: string;
  readonly share: (usage: SlaveUsageWithId) => number | undefined;
}

const ratio = (used: number | undefined, all: number | undefined): number | undefined =>
  used === undefined || !all ? undefined : used / all;

const measures: Readonly<Record<string, Measure>> = {
  cpu: { label: 'CPU', share: (usage) => ratio(usage.cpusUsed, usage.cpusTotal) },
  memory: { label: 'Memory', share: (usage) => ratio(usage.memoryBytesUsed, usage.memoryBytesTotal) },
  disk: { label: 'Disk', share: (usage) => ratio(usage.diskBytesUsed, usage.diskBytesTotal) },
  cpuReserved: { label: 'CPU reserved', share: (usage) => ratio(usage.cpusReserved, usage.cpusTotal) },
  memoryReserved: { label: 'Memory reserved', share: (usage) => ratio(usage.memoryMbReserved, usage.memoryMbTotal) },
};

/** In ten steps, which is what a colour can tell. */
const heat = (share: number | undefined): string =>
  share === undefined ? 'none' : String(Math.min(9, Math.floor(share * 10)));

const offered = Object.entries(measures).filter(([name]) => name !== 'disk' || view.showTaskDiskResource);

export function Page() {
  const [{ by = 'cpu' }, setFilters] = useFilters();
  const measure = measures[by] ?? measures['cpu']!;
  const machines = useRead(
    ['machines', 'usage'],
    async () => {
      const [usage, slaves] = await Promise.all([muster.usage.slaves({}), muster.slaves.list({})]);
      return usage.map((each) => ({ usage: each, slave: slaves.find(({ id }) => id === each.slaveId) }));
    },
    { everyMs: 30_000 },
  );
  const cluster = useRead(['usage', 'cluster'], () => muster.usage.cluster({}), { everyMs: 30_000 });
  return (
    <>
      <Heading>Utilization</Heading>
      <Panel of={cluster}>{(figures) => <Cluster figures={figures} />}</Panel>
      <h2>Machines</h2>
      <div className="tabs" role="group" aria-label="Coloured by">
        {offered.map(([name, { label }]) => (
          <button
            key={name}
            type="button"
            className="tab"
            aria-pressed={name === by}
            onClick={() => setFilters({ by: name })}
          >
            {label}
          </button>
        ))}
      </div>
      <Panel of={machines}>
        {(all) => (
          <ul className="heat-map">
            {all.map(({ usage, slave }) => {
              const share = measure.share(usage);
              const host = slave?.host ?? usage.slaveId;
              const name = view.shortenSlaveUsageHostname ? host.split('.')[0]! : shortHost(host);
              return (
                <li key={usage.slaveId} data-heat={heat(share)}>
                  <Go to="/slaves" search={{ q: host }}>
                    {name}
                  </Go>
                  <span>{share === undefined ? '–' : `${Math.round(share * 100)} %`}</span>
                  <span className="faint">
                    {counted(usage.numTasks, 'task')}, {formatNumber(usage.cpusUsed)} cores,{' '}
                    {formatBytes(usage.memoryBytesUsed)}
                  </span>
                </li>
              );
            })}
          </ul>
        )}
      </Panel>
    </>
  );
}

function Cluster({ figures }: { figures: ClusterUtilization }) {
  const rows: readonly (readonly [string, string, string | undefined])[] = [
    ['Requests that use less CPU than they set aside', String(figures.numRequestsWithUnderUtilizedCpu), undefined],
    ['Most CPU unused', `${formatNumber(figures.maxUnderUtilizedCpu)} cores`, figures.maxUnderUtilizedCpuRequestId],
    ['Requests that use more CPU', String(figures.numRequestsWithOverUtilizedCpu), undefined],
    ['Most CPU beyond', `${formatNumber(figures.maxOverUtilizedCpu)} cores`, figures.maxOverUtilizedCpuRequestId],
    ['Requests that use less memory', String(figures.numRequestsWithUnderUtilizedMemBytes), undefined],
    ['Most memory unused', formatBytes(figures.maxUnderUtilizedMemBytes), figures.maxUnderUtilizedMemBytesRequestId],
    ['Memory unused on average', formatBytes(figures.avgUnderUtilizedMemBytes), undefined],
  ];
  const ofDisks: typeof rows = [
    ['Requests that use less disk', String(figures.numRequestsWithUnderUtilizedDiskBytes), undefined],
    ['Most disk unused', formatBytes(figures.maxUnderUtilizedDiskBytes), figures.maxUnderUtilizedDiskBytesRequestId],
  ];
  return (
    <>
      <Use
        label="CPU"
        used={figures.totalCpuUsed}
        of={figures.totalCpuAvailable}
        format={(value) => `${formatNumber(value)} cores`}
      />
      <Use label="Memory" used={figures.totalMemBytesUsed} of={figures.totalMemBytesAvailable} format={formatBytes} />
      {view.showTaskDiskResource && (
        <Use label="Disk" used={figures.totalDiskBytesUsed} of={figures.totalDiskBytesAvailable} format={formatBytes} />
      )}
      <dl className="facts wide">
        {[...rows, ...(view.showTaskDiskResource ? ofDisks : [])].map(([label, value, requestId]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {value} {requestId !== undefined && requestId !== '' && <RequestLink id={requestId} />}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
