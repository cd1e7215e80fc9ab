import type { Rejection, RequestExplanation, TaskExplanation } from 'muster-client';
import { formatNumber } from './duration';
import { Mark } from './badge';
import { Time } from './time';
import { counted, inWords, ofMachines } from './words';

/** Why a task waits, in the words of the service, and how many machines refuse it for which reason. */
export function Explained({ task }: { task: TaskExplanation }) {
  return (
    <div className="explained">
      <p>{ofMachines(task.message)}</p>
      {task.rejections.length > 0 && (
        <>
          <p className="faint">
            {task.fitting} of {counted(task.slaves, 'machine')} {task.fitting === 1 ? 'fits' : 'fit'}.
          </p>
          <Rejections rejections={task.rejections} />
        </>
      )}
    </div>
  );
}

export function Rejections({ rejections }: { rejections: readonly Rejection[] }) {
  const most = Math.max(1, ...rejections.map(({ slaves }) => slaves));
  return (
    <ul className="bars">
      {rejections.map(({ reason, slaves, asked, free, largest }) => (
        <li key={reason}>
          <span>{inWords(reason)}</span>
          <meter min={0} max={most} value={slaves} aria-label={counted(slaves, 'machine')} />
          <span>{slaves}</span>
          <span className="faint">
            {[
              asked !== undefined && `asks ${formatNumber(asked)}`,
              free !== undefined && `most free ${formatNumber(free)}`,
              largest !== undefined && `largest ${formatNumber(largest)}`,
            ]
              .filter(Boolean)
              .join(', ')}
          </span>
        </li>
      ))}
    </ul>
  );
}

export function ExplainedRequest({ explanation }: { explanation: RequestExplanation }) {
  const { message, pendingTasks, queued, nextRuns } = explanation;
  const waiting = pendingTasks.filter(({ reason }) => reason !== 'NOT_DUE');
  if (message === undefined && waiting.length === 0 && queued.length === 0 && !nextRuns?.length) return null;
  return (
    <section className={waiting.length > 0 ? 'notice warn' : 'notice'} aria-label="Why it waits">
      {message !== undefined && <p>{ofMachines(message)}</p>}
      {waiting.length > 0 && (
        <>
          <Mark tone="warn">{waiting.length === 1 ? '1 task waits' : `${waiting.length} tasks wait`}</Mark>
          <Explained task={waiting[0]!} />
        </>
      )}
      {queued.map((entry) => (
        <p key={`${entry.pendingType}${entry.timestamp}`}>
          {ofMachines(entry.message)} <Time at={entry.timestamp} />
        </p>
      ))}
      {nextRuns !== undefined && nextRuns.length > 0 && (
        <p>
          Next run <Time at={nextRuns[0]!.at} />{' '}
          <span className="faint">
            ({nextRuns[0]!.local} {nextRuns[0]!.timeZone})
          </span>
        </p>
      )}
    </section>
  );
}
