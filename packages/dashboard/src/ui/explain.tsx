import type { FailedInstance, Rejection, RequestExplanation, TaskExplanation, UnhealthyTask } from 'muster-client';
import { formatNumber } from './duration';
import { Mark } from './badge';
import { DeployLink, Go, paths } from './links';
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
      {rejections.map(({ reason, slaves, asked, free, largest, because }) => (
        <li key={reason}>
          <span>{inWords(reason)}</span>
          <meter min={0} max={most} value={slaves} aria-label={counted(slaves, 'machine')} />
          <span>{slaves}</span>
          <span className="faint">
            {[
              asked !== undefined && `asks ${formatNumber(asked)}`,
              free !== undefined && `most free ${formatNumber(free)}`,
              largest !== undefined && `largest ${formatNumber(largest)}`,
              because,
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
  const { message, pendingTasks, queued, nextRuns, heldBy = [] } = explanation;
  const { unansweredLaunches = [], startingTasks = [], unhealthyTasks = [], failedInstances = [] } = explanation;
  const { programs = [] } = explanation;
  const { waitingGate, autoscale, closedDeployWindows, waitingFlowRuns = 0 } = explanation;
  const waiting = pendingTasks.filter(({ reason }) => reason !== 'NOT_DUE');
  const failed = programs.filter(({ state }) => state === 'FAILED');
  const wrong = [waiting, unansweredLaunches, unhealthyTasks, failedInstances, failed];
  const isWrong = wrong.some(({ length }) => length > 0);
  const isQuiet =
    message === undefined &&
    !waitingGate &&
    !autoscale &&
    !closedDeployWindows &&
    queued.length + programs.length + startingTasks.length + waitingFlowRuns === 0 &&
    !nextRuns?.length;
  if (isQuiet && !isWrong) return null;
  return (
    <section className={isWrong ? 'notice warn' : 'notice'} aria-label="Why it waits">
      {message !== undefined && <p>{ofMachines(message)}</p>}
      {autoscale !== undefined && (
        <p>
          {autoscale.message}
          {autoscale.at !== undefined && (
            <span className="faint">
              {' '}
              (<Time at={autoscale.at} />)
            </span>
          )}
        </p>
      )}
      {closedDeployWindows !== undefined && <p>{closedDeployWindows.message}</p>}
      {waitingGate !== undefined && (
        <p>
          <Mark tone="warn">
            Deploy <DeployLink requestId={explanation.requestId} deployId={waitingGate.deployId} /> waits
          </Mark>{' '}
          {waitingGate.message}
        </p>
      )}
      {waiting.length > 0 && (
        <>
          <Mark tone="warn">{waiting.length === 1 ? '1 task waits' : `${waiting.length} tasks wait`}</Mark>
          <Explained task={waiting[0]!} />
        </>
      )}
      {waitingFlowRuns > 0 && (
        <p>
          <Mark tone="warn">
            {waitingFlowRuns === 1 ? '1 run of a flow waits' : `${waitingFlowRuns} runs of flows wait`}
          </Mark>
        </p>
      )}
      {heldBy.length > 0 && <HeldBy taskIds={heldBy} />}
      {unansweredLaunches.slice(0, UNANSWERED_SHOWN).map(({ taskId, launchedAt, message }) => (
        <p key={taskId.id}>
          <Mark tone="warn">
            <Go to={paths.task(taskId.id)}>Instance {taskId.instanceNo}</Go> waits for its machine
          </Mark>{' '}
          since <Time at={launchedAt} />: {ofMachines(message)}
        </p>
      ))}
      {startingTasks.slice(0, STARTING_SHOWN).map(({ taskId, since, message }) => (
        <p key={taskId.id}>
          <Mark tone="busy">
            <Go to={paths.task(taskId.id)}>Instance {taskId.instanceNo}</Go> is starting
          </Mark>{' '}
          since <Time at={since} />: {ofMachines(message)}
        </p>
      ))}
      {unhealthyTasks.map((task) => (
        <Unhealthy key={task.taskId.id} task={task} />
      ))}
      {programs.map((program) => (
        <p key={`${program.taskId.id}${program.name}`}>
          <Mark tone={program.state === 'FAILED' ? 'bad' : 'busy'}>
            {program.name} {program.state === 'FAILED' ? 'failed' : 'runs'}
          </Mark>{' '}
          <Go to={paths.task(program.taskId.id)}>{program.taskId.id}</Go> {program.message}{' '}
          <Time at={program.timestamp} />
        </p>
      ))}
      {failedInstances.map((instance) => (
        <Failed key={instance.instanceNo} instance={instance} />
      ))}
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

const HELD_SHOWN = 5;
const UNANSWERED_SHOWN = 5;
const STARTING_SHOWN = 5;

/** Runs of its concurrency group that are active, the oldest first. */
const HeldBy = ({ taskIds }: { taskIds: readonly string[] }) => (
  <p>
    Its concurrency group is held by{' '}
    {taskIds.slice(0, HELD_SHOWN).map((id, index) => (
      <span key={id}>
        {index > 0 && ', '}
        <Go to={paths.task(id)}>{id}</Go>
      </span>
    ))}
    {taskIds.length > HELD_SHOWN && ` and ${taskIds.length - HELD_SHOWN} more`}
  </p>
);

const Unhealthy = ({ task: { taskId, since, waitsUntil, message } }: { task: UnhealthyTask }) => (
  <p>
    <Mark tone="bad">
      <Go to={paths.task(taskId.id)}>Instance {taskId.instanceNo}</Go> is unhealthy
    </Mark>{' '}
    since <Time at={since} />: {message}
    {waitsUntil !== undefined && (
      <>
        {' '}
        Until <Time at={waitsUntil} />
      </>
    )}
  </p>
);

function Failed({ instance }: { instance: FailedInstance }) {
  const { instanceNo, failures, lastFailureAt, nextStartAt, givenUp } = instance;
  return (
    <p>
      <Mark tone={givenUp ? 'bad' : 'warn'}>
        Instance {instanceNo} failed {failures === 1 ? 'once' : `${failures} times in a row`}
      </Mark>{' '}
      <Time at={lastFailureAt} />.{' '}
      {givenUp ? (
        'It stays down until a deploy, a restart or an unpause.'
      ) : nextStartAt === undefined ? (
        'It may start at once.'
      ) : (
        <>
          Next start <Time at={nextStartAt} />.
        </>
      )}
    </p>
  );
}
