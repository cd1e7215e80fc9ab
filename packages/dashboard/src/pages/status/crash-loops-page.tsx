import { useState } from 'react';
import type { CrashLoopInfo, TaskIdHistory } from 'muster-client';
import { muster } from '../../api';
import { Badge, Mark } from '../../ui/badge';
import { Heading } from '../../ui/heading';
import { DeployLink, Go, paths, RequestLink } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Lasted, Time, useNow } from '../../ui/time';
import { counted, inWords } from '../../ui/words';
import { LastLines } from '../task/last-lines';

/** Ended tasks on the axis of a loop. */
const FAILURES = 50;

/** Deploys whose tasks fail again and again: those that do now, then those that did. */
export function Page() {
  const read = useRead(['troubles', 'crash-loops'], () => muster.requests.crashLoops({}));
  return (
    <>
      <Heading>Crash loops</Heading>
      <Panel of={read}>
        {(byRequest) => {
          const loops = Object.values(byRequest).flat();
          const isOn = ({ end }: CrashLoopInfo) => end === undefined;
          const newest = (a: CrashLoopInfo, b: CrashLoopInfo) => b.start - a.start;
          const inOrder = [...loops.filter(isOn).sort(newest), ...loops.filter((loop) => !isOn(loop)).sort(newest)];
          if (inOrder.length === 0) return <p className="empty">No deploy is in a crash loop, nor was one lately.</p>;
          return inOrder.map((loop) => (
            <Loop key={`${loop.requestId} ${loop.deployId} ${loop.type} ${loop.start}`} loop={loop} />
          ));
        }}
      </Panel>
    </>
  );
}

function Loop({ loop }: { loop: CrashLoopInfo }) {
  const { requestId, deployId, type, start, end } = loop;
  const [isOpen, setOpen] = useState(false);
  return (
    <section className={end === undefined ? 'notice bad' : 'notice'} aria-label={`${requestId}: ${inWords(type)}`}>
      <p>
        <RequestLink id={requestId} /> <DeployLink requestId={requestId} deployId={deployId} />{' '}
        <Mark tone={end === undefined ? 'bad' : 'off'}>{inWords(type)}</Mark> since <Time at={start} />,{' '}
        {end === undefined ? 'for ' : 'over after '}
        <Lasted from={start} to={end} />
      </p>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Failures and the last lines</summary>
        {isOpen && <Failures loop={loop} />}
      </details>
    </section>
  );
}

const columns: readonly Column<TaskIdHistory>[] = [
  {
    id: 'ended',
    title: 'Ended',
    value: ({ updatedAt }) => updatedAt,
    cell: ({ updatedAt }) => <Time at={updatedAt} />,
  },
  { id: 'state', title: 'State', cell: ({ lastTaskState }) => <Badge of="task" state={lastTaskState} /> },
  {
    id: 'lasted',
    title: 'Lasted',
    value: ({ taskId, updatedAt }) => updatedAt - taskId.startedAt,
    cell: ({ taskId, updatedAt }) => <Lasted from={taskId.startedAt} to={updatedAt} />,
  },
  { id: 'host', title: 'Machine', value: ({ taskId }) => taskId.host, cell: ({ taskId }) => taskId.host },
  { id: 'task', title: 'Task', cell: ({ taskId }) => <Go to={paths.task(taskId.id)}>{taskId.id}</Go> },
];

function Failures({ loop: { requestId, deployId, start, end } }: { loop: CrashLoopInfo }) {
  const read = useRead(['request', requestId, 'failures', deployId, start], () =>
    muster.history.endedTasksOfDeploy({ requestId, deployId, count: FAILURES }),
  );
  const now = useNow(30_000);
  return (
    <Panel of={read}>
      {(ended) => {
        const failed = ended.filter(
          ({ lastTaskState, updatedAt }) =>
            lastTaskState !== 'TASK_FINISHED' && lastTaskState !== 'TASK_KILLED' && updatedAt >= start - 1,
        );
        return (
          <>
            <Axis times={failed.map(({ updatedAt }) => updatedAt)} from={start} to={end ?? now} />
            {failed[0] && <LastLines taskId={failed[0].taskId.id} file="stderr" />}
            <Table
              label="Failures"
              rows={failed}
              columns={columns}
              keyOf={({ taskId }) => taskId.id}
              empty="None of its failures is kept."
            />
          </>
        );
      }}
    </Panel>
  );
}

function Axis({ times, from, to }: { times: readonly number[]; from: number; to: number }) {
  const span = Math.max(1, to - from);
  return (
    <svg
      className="axis"
      viewBox="0 0 300 20"
      role="img"
      aria-label={`${counted(times.length, 'failure')} on the time axis`}
    >
      <line x1={0} x2={300} y1={10} y2={10} />
      {times.map((at) => (
        <line key={at} x1={((at - from) / span) * 300} x2={((at - from) / span) * 300} y1={2} y2={18} />
      ))}
    </svg>
  );
}
