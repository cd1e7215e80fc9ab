import { Fragment } from 'react';
import type { DeployHistory, RequestParent } from 'muster-client';
import { muster, orNone } from '../../api';
import { ActionButton } from '../../actions/action-button';
import { rollBack } from '../../actions/request-actions';
import { Badge, Mark } from '../../ui/badge';
import { ExplainedRequest } from '../../ui/explain';
import { DeployLink, Go, paths } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Marked, Time, useZone } from '../../ui/time';
import { isoTime } from '../../ui/time-format';
import { inWords, isLongRunning } from '../../ui/words';
import { LastLines } from '../task/last-lines';
import { rulesOfDeploy, rulesOfRequest } from './rules';
import { ActiveTasks, EndedTasks, ScheduledTasks } from './tasks-tab';

const RECENT = 5;

/** The state of a request at one look: why it waits, whether its last deploy or run failed and why, what runs. */
export function Overview({ parent }: { parent: RequestParent }) {
  const requestId = parent.request.id;
  const { activeDeploy } = parent.requestDeployState ?? {};
  const explanation = useRead(['request', requestId, 'explain'], () => orNone(muster.requests.explain({ requestId })));
  const last = useRead(['request', requestId, 'deploys', 'last'], () =>
    muster.history.deploys({ requestId, count: 1 }),
  );
  return (
    <>
      <Panel of={explanation}>{(found) => found && <ExplainedRequest explanation={found} />}</Panel>
      <Panel of={last}>
        {([newest]) => newest && hasFailed(newest) && <FailedDeploy parent={parent} deploy={newest} />}
      </Panel>
      {!isLongRunning(parent.request.requestType) && <LastRun requestId={requestId} />}
      <p>
        {activeDeploy ? (
          <>
            Active deploy <DeployLink requestId={requestId} deployId={activeDeploy.deployId} />{' '}
            <Marked {...activeDeploy} />
          </>
        ) : (
          'No deploy is active: nothing runs until one succeeds.'
        )}
      </p>
      <Rules parent={parent} />
      <h2>Running</h2>
      <ActiveTasks requestId={requestId} />
      <h2>Waiting</h2>
      <ScheduledTasks requestId={requestId} />
      <h2>Ended lately</h2>
      <EndedTasks requestId={requestId} count={RECENT} />
      <p>
        <Go to={`${paths.request(requestId)}/task-search`}>Search all of its tasks</Go>
      </p>
    </>
  );
}

/** What its documents say beside program, number and place. */
function Rules({ parent: { request, activeDeploy } }: { parent: RequestParent }) {
  const zone = useZone();
  const rules = [
    ...rulesOfRequest(request, (at) => isoTime(at, zone)),
    ...(activeDeploy ? rulesOfDeploy(activeDeploy) : []),
  ];
  if (rules.length === 0) return null;
  return (
    <dl className="facts">
      {rules.map(([name, text]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

const hasFailed = ({ deployResult }: DeployHistory): boolean =>
  ['FAILED', 'OVERDUE', 'FAILED_INTERNAL_STATE'].includes(deployResult?.deployState ?? '');

function FailedDeploy({ parent, deploy }: { parent: RequestParent; deploy: DeployHistory }) {
  const { deployId, requestId } = deploy.deployMarker;
  const { deployResult } = deploy;
  const first = deployResult?.deployFailures.find(({ taskId }) => taskId !== undefined);
  return (
    <section className="notice bad" aria-label="The last deploy failed">
      <p>
        <Mark tone="bad">The last deploy failed</Mark>: <DeployLink requestId={requestId} deployId={deployId} />,{' '}
        <Time at={deployResult?.timestamp} />
        {deployResult?.message !== undefined && `: ${deployResult.message}`}
      </p>
      <ul>
        {deployResult?.deployFailures.slice(0, 5).map(({ reason, taskId, message }, index) => (
          // Failures have no id, and their list does not change any more.
          <li key={index}>
            {inWords(reason)}
            {taskId && (
              <>
                {' '}
                of <Go to={paths.task(taskId.id)}>instance {taskId.instanceNo}</Go>
              </>
            )}
            {message !== undefined && `: ${message}`}
          </li>
        ))}
      </ul>
      {first?.taskId && <LastLines taskId={first.taskId.id} file="stderr" />}
      {parent.requestDeployState?.activeDeploy && parent.requestDeployState.activeDeploy.deployId === deployId && (
        <ActionButton action={rollBack(parent)} />
      )}
    </section>
  );
}

/** The last run of a job: when it failed, why, and what it wrote last. */
function LastRun({ requestId }: { requestId: string }) {
  const last = useRead(['request', requestId, 'last-run'], () =>
    muster.history.tasksOfRequest({ requestId, count: 1 }),
  );
  return (
    <Panel of={last}>
      {([run]) => {
        if (!run || !['TASK_FAILED', 'TASK_ERROR', 'TASK_LOST'].includes(run.lastTaskState ?? '')) return null;
        return (
          <section className="notice bad" aria-label="The last run failed">
            <p>
              The last run: <Badge of="task" state={run.lastTaskState} /> <Time at={run.updatedAt} />{' '}
              <Go to={paths.task(run.taskId.id)}>Look at it</Go>
            </p>
            <LastLines taskId={run.taskId.id} file="stderr" />
          </section>
        );
      }}
    </Panel>
  );
}
