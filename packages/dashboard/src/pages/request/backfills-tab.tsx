import { useState } from 'react';
import type { Backfill, BackfillTime, RequestParent } from 'muster-client';
import { muster } from '../../api';
import { ActionButton } from '../../actions/action-button';
import { backfill, cancelBackfill } from '../../actions/backfill-actions';
import { Badge, Mark } from '../../ui/badge';
import { Go, paths, RunLog } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time, useExactTime } from '../../ui/time';
import { inWords } from '../../ui/words';

/** Planned times of the past that are run, and how far each such backfill is. */
export function BackfillsTab({ parent }: { parent: RequestParent }) {
  const requestId = parent.request.id;
  const read = useRead(['request', requestId, 'backfills'], () => muster.requests.listBackfills({ requestId }));
  return (
    <>
      <div className="buttons">
        <ActionButton action={backfill(parent)} />
      </div>
      <Panel of={read}>
        {(found) =>
          found.length === 0 ? (
            <p className="empty">No planned times of the past were run again.</p>
          ) : (
            found.map((one) => <One key={one.id} backfill={one} />)
          )
        }
      </Panel>
    </>
  );
}

function One({ backfill: one }: { backfill: Backfill }) {
  const { waiting, queued, succeeded, failed, canceled, skipped } = one;
  const all = waiting + queued + succeeded + failed + canceled;
  const isOpen = one.endedAt === undefined;
  const counts = Object.entries({
    waiting,
    'waiting or active': queued,
    succeeded,
    failed,
    canceled,
    'left out': skipped,
  });
  const name = `${useExactTime(one.from)} to ${useExactTime(one.to)}`;
  // The same times may be run again.
  const askedAt = useExactTime(one.createdAt);
  return (
    <section className="backfill" aria-label={`Backfill ${name}, asked for at ${askedAt}`}>
      <h2>{name}</h2>
      <p>
        <State backfill={one} />{' '}
        <progress max={all} value={succeeded + failed + canceled} aria-label="Times that are done" />{' '}
        {counts
          .filter(([, count]) => count > 0)
          .map(([text, count]) => `${count} ${text}`)
          .join(', ')}
      </p>
      <p className="faint">
        {one.user !== undefined && `By ${one.user}, `}
        <Time at={one.createdAt} />, {one.concurrency} at a time, {inWords(one.order)}
        {one.force && ', also times that had had a run'}
        {one.message !== undefined && `: ${one.message}`}
      </p>
      {isOpen && one.canceledAt === undefined && (
        <div className="buttons">
          <ActionButton action={cancelBackfill(one)} />
        </div>
      )}
      <Times backfill={one} />
    </section>
  );
}

function State({ backfill: { canceledAt, endedAt, failed } }: { backfill: Backfill }) {
  if (canceledAt !== undefined) return <Mark tone="off">{endedAt === undefined ? 'Being canceled' : 'Canceled'}</Mark>;
  if (endedAt === undefined) return <Mark tone="busy">In progress</Mark>;
  return failed > 0 ? <Mark tone="bad">Done, with failures</Mark> : <Mark tone="good">Done</Mark>;
}

/** Read when somebody wants to see them. */
function Times({ backfill: { id, requestId } }: { backfill: Backfill }) {
  const [isOpen, setOpen] = useState(false);
  const read = useRead(
    ['request', requestId, 'backfills', id],
    () => muster.requests.findBackfill({ requestId, backfillId: id }),
    { enabled: isOpen },
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Times</summary>
      {isOpen && (
        <Panel of={read}>
          {({ times = [] }) => (
            <Table
              label="Times of the backfill"
              rows={times}
              columns={columnsOf(requestId)}
              keyOf={({ runId }) => runId}
              empty="It has no time."
            />
          )}
        </Panel>
      )}
    </details>
  );
}

const columnsOf = (requestId: string): readonly Column<BackfillTime>[] => [
  {
    id: 'at',
    title: 'Planned',
    value: ({ scheduledAt }) => scheduledAt,
    cell: ({ scheduledAt }) => <Time at={scheduledAt} />,
  },
  {
    id: 'state',
    title: 'State',
    value: ({ state }) => state,
    cell: ({ state }) => <Badge of="time of a backfill" state={state} />,
  },
  {
    id: 'task',
    title: 'Task',
    cell: ({ taskId }) => taskId !== undefined && <Go to={paths.task(taskId)}>{taskId}</Go>,
  },
  {
    id: 'log',
    title: 'Log',
    cell: ({ taskId, runId, state }) => <RunLog {...{ requestId, runId, taskId }} isActive={state === 'QUEUED'} />,
  },
];
