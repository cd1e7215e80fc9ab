import type { TaskHistory } from 'muster-client';
import { Badge } from '../../ui/badge';
import { formatDuration } from '../../ui/duration';
import { Time } from '../../ui/time';
import { whyTask } from '../../ui/words';

/** Each state it has been in, how long after the one before, and why. */
export function TimeLine({ history }: { history: TaskHistory }) {
  const updates = history.taskUpdates.toSorted((a, b) => a.timestamp - b.timestamp);
  const balancer = history.loadBalancerUpdates.toSorted((a, b) => a.timestamp - b.timestamp);
  return (
    <>
      <h2>What happened</h2>
      <ol className="time-line">
        {updates.map((update, index) => (
          <li key={`${update.timestamp}${update.taskState}`}>
            <Badge of="task" state={update.taskState} /> <Time at={update.timestamp} />
            {index > 0 && (
              <span className="faint"> after {formatDuration(update.timestamp - updates[index - 1]!.timestamp)}</span>
            )}{' '}
            {(update.statusMessage ?? update.statusReason) !== undefined && whyTask(update)}
          </li>
        ))}
      </ol>
      {balancer.length > 0 && (
        <>
          <h2>Load balancer</h2>
          <ol className="time-line">
            {balancer.map((update) => (
              <li key={`${update.timestamp}${update.method}`}>
                {update.method.toLowerCase()}: {update.loadBalancerState.toLowerCase()} <Time at={update.timestamp} />{' '}
                {update.message}
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}
