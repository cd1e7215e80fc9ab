import type { TaskCleanup, TaskHistory } from 'muster-client';
import { hasEnded } from 'muster-client';
import { muster, orNone } from '../../api';
import { Mark } from '../../ui/badge';
import { DeployLink, Go, paths } from '../../ui/links';
import { useRead } from '../../ui/read';
import { formatDuration } from '../../ui/duration';
import { Time, useNow } from '../../ui/time';
import { inWords, whyTask, wordOf } from '../../ui/words';
import { view } from '../../view';

/** What somebody who looks at this task should know first. */
export function TaskAlerts({ history, cleanup }: { history: TaskHistory; cleanup: TaskCleanup | undefined }) {
  const { taskId } = history.task;
  const update = history.taskUpdates.toSorted((a, b) => a.timestamp - b.timestamp).at(-1);
  const isBad = wordOf('task', update?.taskState).tone === 'bad';
  return (
    <>
      {update && isBad && (
        <p className="notice bad" role="alert">
          <Mark tone="bad">{wordOf('task', update.taskState).text}</Mark>: {whyTask(update)}
        </p>
      )}
      {history.taskMetadata.map((note) => (
        <p key={`${note.timestamp}${note.title}`} className={note.level === 'ERROR' ? 'notice bad' : 'notice'}>
          <strong>{note.title}</strong> {note.message} <span className="faint">{note.user}</span>{' '}
          <Time at={note.timestamp} />
        </p>
      ))}
      <DeployPart history={history} />
      {(cleanup?.cleanupType === 'DECOMISSIONING' || cleanup?.cleanupType === 'DECOMMISSION_TIMEOUT') && (
        <p className="notice warn">Its machine is being decommissioned; it is replaced elsewhere first.</p>
      )}
      {cleanup?.cleanupType === 'UNHEALTHY_TASK' && (
        <p className="notice bad">It fails its liveness checks; a new task takes its place first where both fit.</p>
      )}
      {cleanup?.cleanupType === 'UNHEALTHY_NEW_TASK' && <Unhealthy history={history} />}
      <RunsLong history={history} isOver={hasEnded(update?.taskState)} taskKey={taskId.id} />
    </>
  );
}

/** Whether this task had its deploy fail, or the failed deploy took it along, or the deploy waits for it. */
function DeployPart({ history }: { history: TaskHistory }) {
  const { requestId, deployId, id } = history.task.taskId;
  const deploy = useRead(['request', requestId, 'deploy', deployId], () =>
    orNone(muster.history.deploy({ requestId, deployId })),
  );
  const result = deploy.data?.deployResult;
  if (!deploy.data) return null;
  if (!result)
    return hasEnded(history.taskUpdates.at(-1)?.taskState) ? null : (
      <p className="notice busy">
        Deploy <DeployLink requestId={requestId} deployId={deployId} /> is in progress. {deploy.data.waitsBecause}
      </p>
    );
  if (result.deployState === 'SUCCEEDED') return null;
  const failure = result.deployFailures.find(({ taskId }) => taskId?.id === id);
  return (
    <p className="notice bad">
      {failure ? 'This task had its deploy fail: ' : 'The deploy of this task failed: '}
      <DeployLink requestId={requestId} deployId={deployId} />{' '}
      {failure ? `${inWords(failure.reason)}. ${failure.message ?? ''}` : result.message}
    </p>
  );
}

function Unhealthy({ history }: { history: TaskHistory }) {
  const last = history.healthcheckResults.toSorted((a, b) => a.timestamp - b.timestamp).at(-1);
  const { id } = history.task.taskId;
  return (
    <p className="notice bad">
      It did not become healthy.{' '}
      {last?.errorMessage ?? (last?.statusCode !== undefined && `Last answer: ${last.statusCode}`)}{' '}
      {/refused/i.test(last?.errorMessage ?? '') && 'Nothing listened at its port. '}
      <Go to={paths.task(id)} search={{ tab: 'health' }}>
        Health checks
      </Go>
    </p>
  );
}

function RunsLong({ history, isOver, taskKey }: { history: TaskHistory; isOver: boolean; taskKey: string }) {
  const { requestId, deployId, startedAt } = history.task.taskId;
  const isScheduled = history.task.taskRequest.request.requestType === 'SCHEDULED';
  const deploy = useRead(
    ['request', requestId, 'deploy', deployId],
    () => orNone(muster.history.deploy({ requestId, deployId })),
    {
      enabled: isScheduled && !isOver,
    },
  );
  const now = useNow(10_000);
  const average = deploy.data?.deployStatistics?.averageRuntimeMillis;
  if (!isScheduled || isOver || average === undefined) return null;
  const limit = (average * view.warnIfScheduledJobIsRunningPastNextRunPct) / 100;
  if (now - startedAt <= limit) return null;
  return (
    <p key={taskKey} className="notice warn">
      It runs longer than usual: {formatDuration(now - startedAt)}, on average {formatDuration(average)}.
    </p>
  );
}
