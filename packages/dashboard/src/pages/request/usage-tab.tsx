import type { RequestParent, RequestUtilization } from 'muster-client';
import { muster, orNone } from '../../api';
import { formatBytes, formatNumber } from '../../ui/duration';
import { Panel, useRead } from '../../ui/read';
import { Use } from '../../ui/use';
import { view } from '../../view';

/** What a task of it takes on average, beside what is set aside for one. */
export function UsageTab({ parent }: { parent: RequestParent }) {
  const requestId = parent.request.id;
  const read = useRead(['usage', requestId], () => orNone(muster.usage.ofRequest({ requestId })), { everyMs: 30_000 });
  return (
    <Panel of={read}>
      {(usage) =>
        usage === null || usage.numTasks === 0 ? (
          <p className="empty">Nothing was measured yet. Figures come while tasks run.</p>
        ) : (
          <Figures usage={usage} />
        )
      }
    </Panel>
  );
}

function Figures({ usage }: { usage: RequestUtilization }) {
  const { numTasks } = usage;
  return (
    <>
      <p>{numTasks === 1 ? 'Its only task:' : `For each of ${numTasks} tasks, on average:`}</p>
      <Use
        label="CPU"
        used={usage.cpuUsed / numTasks}
        of={usage.cpuReserved / numTasks}
        format={(value) => `${formatNumber(value)} cores`}
      />
      <p className="faint">
        In 24 hours from {formatNumber(usage.minCpuUsed)} to {formatNumber(usage.maxCpuUsed)} cores; throttled for{' '}
        {formatNumber(usage.percentCpuTimeThrottled)} % of the time, at most{' '}
        {formatNumber(usage.maxPercentCpuTimeThrottled)} %
      </p>
      <Use
        label="Memory"
        used={usage.memBytesUsed / numTasks}
        of={usage.memBytesReserved / numTasks}
        format={formatBytes}
      />
      <p className="faint">
        In 24 hours from {formatBytes(usage.minMemBytesUsed)} to {formatBytes(usage.maxMemBytesUsed)}
      </p>
      {view.showTaskDiskResource && (
        <Use
          label="Disk"
          used={usage.diskBytesUsed / numTasks}
          of={usage.diskBytesReserved / numTasks}
          format={formatBytes}
        />
      )}
    </>
  );
}
