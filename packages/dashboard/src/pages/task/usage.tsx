import { useRef } from 'react';
import type { ClusterTaskStatisticsObject, TaskHistory } from 'muster-client';
import { isStatus, muster } from '../../api';
import { formatBytes, formatNumber } from '../../ui/duration';
import { Panel, useRead } from '../../ui/read';
import { Sparkline } from '../../ui/sparkline';
import { Use } from '../../ui/use';
import { view } from '../../view';
import { coresBetween } from './cores';

const EVERY_MS = 3_000;

export function TaskUsage({ history, isRunning }: { history: TaskHistory; isRunning: boolean }) {
  return (
    <>
      {isRunning && <Now history={history} />}
      <Past history={history} />
    </>
  );
}

function Now({ history }: { history: TaskHistory }) {
  const { id } = history.task.taskId;
  const before = useRef<ClusterTaskStatisticsObject>(undefined);
  const read = useRead(
    ['statistics', id],
    async () => {
      const statistics = await muster.tasks.statistics({ taskId: id }).catch((cause: unknown) => {
        if (isStatus(cause, 404, 500)) return null;
        throw cause;
      });
      const cores = statistics ? coresBetween(before.current, statistics) : undefined;
      before.current = statistics ?? undefined;
      return { statistics, cores };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Panel of={read}>
      {({ statistics, cores }) =>
        statistics === null ? (
          <p className="empty">Its machine measures nothing of it.</p>
        ) : (
          <>
            <h2>Now</h2>
            <Use
              label="Memory"
              used={statistics.memRssBytes ?? 0}
              of={statistics.memLimitBytes ?? 0}
              format={formatBytes}
            />
            {cores === undefined ? (
              <p className="faint">CPU takes two looks.</p>
            ) : (
              <Use
                label="CPU"
                used={cores}
                of={statistics.cpusLimitExact ?? statistics.cpusLimit ?? 0}
                format={(value) => `${formatNumber(value)} cores`}
              />
            )}
            {view.showTaskDiskResource && statistics.diskLimitBytes !== undefined && (
              <Use
                label="Disk"
                used={statistics.diskUsedBytes ?? 0}
                of={statistics.diskLimitBytes}
                format={formatBytes}
              />
            )}
            {statistics.cpusNrPeriods !== undefined && statistics.cpusNrPeriods > 0 && (
              <p>
                Throttled in {Math.round((100 * (statistics.cpusNrThrottled ?? 0)) / statistics.cpusNrPeriods)} % of
                periods.
              </p>
            )}
            <details>
              <summary>All figures</summary>
              <pre className="document">{JSON.stringify(statistics, null, 2)}</pre>
            </details>
          </>
        )
      }
    </Panel>
  );
}

function Past({ history }: { history: TaskHistory }) {
  const { id } = history.task.taskId;
  const read = useRead(['usage', 'task', id], () => muster.usage.taskHistory({ taskId: id }), { everyMs: 30_000 });
  return (
    <Panel of={read}>
      {(points) => {
        const inOrder = points.toSorted((a, b) => a.timestamp - b.timestamp);
        if (inOrder.length < 2) return <p className="empty">Too few measurements for a picture yet.</p>;
        const cores = inOrder.slice(1).map((point, index) => {
          const seconds = (point.timestamp - inOrder[index]!.timestamp) / 1_000;
          return seconds > 0 ? Math.max(0, (point.cpuSeconds - inOrder[index]!.cpuSeconds) / seconds) : 0;
        });
        return (
          <>
            <h2>Since its start</h2>
            <Sparkline
              label="Memory"
              values={inOrder.map(({ memoryTotalBytes }) => memoryTotalBytes)}
              format={formatBytes}
            />
            <Sparkline label="CPU" values={cores} format={(value) => `${formatNumber(value)} cores`} />
          </>
        );
      }}
    </Panel>
  );
}
