import type { TaskCleanup, TaskHistory } from 'muster-client';
import { hasEnded } from 'muster-client';
import { muster, orNone } from '../../api';
import { ActionButton } from '../../actions/action-button';
import { killTask } from '../../actions/task-actions';
import { Badge } from '../../ui/badge';
import { CopyJson } from '../../ui/copy';
import { DeployLink, Go, HostLink, paths, RequestLink, useFilters, useParam } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { RunOrigin } from '../../ui/run-origin';
import { Lasted, Time } from '../../ui/time';
import { inWords, isLongRunning } from '../../ui/words';
import { logPathOf } from '../../view';
import { TaskAlerts } from './alerts';
import { Details } from './details';
import { Files } from './files';
import { Healthchecks } from './healthchecks';
import { KeptLogs } from './kept-logs';
import { LastLines } from './last-lines';
import { Programs } from './programs';
import { ShellCommands } from './shell-commands';
import { TimeLine } from './time-line';
import { TaskUsage } from './usage';
import { Heading } from '../../ui/heading';

const tabs = ['overview', 'files', 'health', 'usage', 'commands', 'details'] as const;

export function Page() {
  const taskId = useParam('taskId');
  const read = useRead(['task', taskId, 'history'], () => orNone(muster.history.task({ taskId })));
  return (
    <Panel of={read}>
      {(history) => (history === null ? <Unknown taskId={taskId} /> : <Known history={history} />)}
    </Panel>
  );
}

function Unknown({ taskId }: { taskId: string }) {
  return (
    <>
      <Heading>Not found</Heading>
      <p>
        There is no task <code>{taskId}</code>. <Go to="/task-search">Search tasks</Go>
      </p>
    </>
  );
}

/** The file that says why it failed, if it did. */
const errorsOf = ({ programs = [] }: TaskHistory): string => {
  const failed = programs.find(({ role, state }) => role === 'INIT' && state === 'FAILED');
  return failed ? `${failed.name}.stderr` : 'stderr';
};

export const lastUpdate = (history: TaskHistory) =>
  history.taskUpdates.toSorted((a, b) => a.timestamp - b.timestamp).at(-1);

function Known({ history }: { history: TaskHistory }) {
  const [{ tab: asked }] = useFilters();
  const tab = tabs.find((each) => each === asked) ?? 'overview';
  const { taskId } = history.task;
  const update = lastUpdate(history);
  const ended = hasEnded(update?.taskState);
  const cleanup = useRead(['task', taskId.id, 'cleanup'], () => orNone(muster.tasks.cleanup({ taskId: taskId.id })), {
    enabled: !ended,
  });
  return (
    <>
      <Head history={history} cleanup={cleanup.data ?? undefined} ended={ended} />
      <TaskAlerts history={history} cleanup={cleanup.data ?? undefined} />
      <nav className="tabs" aria-label="Parts of the task">
        {tabs.map((each) => (
          <Go
            key={each}
            to={paths.task(taskId.id)}
            search={{ tab: each === 'overview' ? undefined : each }}
            className={each === tab ? 'tab open' : 'tab'}
          >
            {each[0]!.toUpperCase() + each.slice(1)}
          </Go>
        ))}
      </nav>
      {tab === 'overview' && (
        <>
          <TimeLine history={history} />
          {history.task.taskRequest.deploy.tasks && <Programs history={history} />}
          <h2>Last lines of {errorsOf(history)}</h2>
          <LastLines taskId={taskId.id} file={errorsOf(history)} />
          <h2>Kept logs</h2>
          <KeptLogs history={history} />
        </>
      )}
      {tab === 'files' && <Files taskId={taskId.id} folder="" />}
      {tab === 'health' && <Healthchecks history={history} />}
      {tab === 'usage' && <TaskUsage history={history} isRunning={!ended} />}
      {tab === 'commands' && <ShellCommands history={history} isRunning={!ended} />}
      {tab === 'details' && <Details history={history} />}
    </>
  );
}

function Head({ history, cleanup, ended }: { history: TaskHistory; cleanup: TaskCleanup | undefined; ended: boolean }) {
  const { taskId, taskRequest } = history.task;
  const { pendingTask } = taskRequest;
  const update = lastUpdate(history);
  const file = logPathOf(taskId.id, ended);
  return (
    <>
      <div className="head">
        <Heading>
          {taskId.requestId} #{taskId.instanceNo}
        </Heading>
        <Badge of="task" state={update?.taskState} />
        {cleanup && <span>being ended: {inWords(cleanup.cleanupType)}</span>}
        <span className="grow" />
        <Go to={paths.tail(taskId.id, file)} className="button primary">
          Log
        </Go>
        <Go to={paths.tail(taskId.id, 'stderr')} className="button">
          stderr
        </Go>
        {!ended && (
          <ActionButton
            className="danger"
            action={killTask(taskId, cleanup, isLongRunning(taskRequest.request.requestType))}
            label={cleanup ? 'End it now' : 'Kill'}
          />
        )}
        <CopyJson value={history} what="The task" />
      </div>
      <dl className="facts">
        <dt>Request</dt>
        <dd>
          <RequestLink id={taskId.requestId} />
        </dd>
        <dt>Deploy</dt>
        <dd>
          <DeployLink requestId={taskId.requestId} deployId={taskId.deployId} />
        </dd>
        <dt>Machine</dt>
        <dd>
          <HostLink host={taskId.host} /> <span className="faint">{taskId.rackId}</span>
        </dd>
        <dt>Started</dt>
        <dd>
          <Time at={taskId.startedAt} />
        </dd>
        <dt>{ended ? 'Lasted' : 'Up'}</dt>
        <dd>
          <Lasted from={taskId.startedAt} to={ended ? update?.timestamp : undefined} />
        </dd>
        {pendingTask.trigger !== undefined && (
          <>
            <dt>Run</dt>
            <dd>
              <RunOrigin {...pendingTask} />
              {pendingTask.scheduledAt !== undefined && pendingTask.trigger !== 'RUN_NOW' && (
                <>
                  {' '}
                  planned for <Time at={pendingTask.scheduledAt} />
                </>
              )}
            </dd>
          </>
        )}
        {taskRequest.request.group !== undefined && (
          <>
            <dt>Group</dt>
            <dd>
              <Go to={paths.group(taskRequest.request.group)}>{taskRequest.request.group}</Go>
            </dd>
          </>
        )}
      </dl>
    </>
  );
}
