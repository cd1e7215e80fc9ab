import type { PendingDeploy, RequestParent } from 'muster-client';
import { muster } from '../../api';
import type { Action } from '../../actions/action';
import { ActionButton } from '../../actions/action-button';
import { Mark } from '../../ui/badge';
import { DeployLink } from '../../ui/links';
import { Marked } from '../../ui/time';

/** How far a deploy has come, what it waits for, and how it is helped on or stopped. */
export function DeployInProgress({ parent, pending }: { parent: RequestParent; pending: PendingDeploy }) {
  const { deployMarker, deployProgress, waitsBecause } = pending;
  const { requestId, deployId } = deployMarker;
  const wanted = parent.request.instances ?? 1;
  const healthy = parent.taskIds?.healthy.filter((task) => task.deployId === deployId).length;
  const waitsForPerson = deployProgress?.stepComplete === true && !deployProgress.autoAdvanceDeploySteps;
  return (
    <section className="notice busy" aria-label="Deploy in progress">
      <p>
        <Mark tone="busy">
          <DeployLink requestId={requestId} deployId={deployId} /> is rolling out
        </Mark>{' '}
        <Marked {...deployMarker} />
      </p>
      {deployProgress && (
        <p>
          <progress
            max={wanted}
            value={healthy ?? deployProgress.currentActiveInstances}
            aria-label="Instances that are healthy"
          />{' '}
          {healthy !== undefined && `${healthy} healthy, `}step to {deployProgress.targetActiveInstances} of {wanted}
          {waitsForPerson && ', waits to be advanced'}
        </p>
      )}
      {waitsBecause !== undefined && <p>{waitsBecause}</p>}
      {deployProgress?.acceptanceResultMessageHistory?.map((text) => (
        <p key={text}>{text}</p>
      ))}
      <div className="buttons">
        {deployProgress && <ActionButton action={advance(parent, pending)} />}
        <ActionButton action={cancel(requestId, deployId)} />
      </div>
    </section>
  );
}

function advance(parent: RequestParent, { deployMarker, deployProgress }: PendingDeploy): Action {
  const { requestId, deployId } = deployMarker;
  const most = parent.request.instances ?? 1;
  const next = Math.min(
    most,
    (deployProgress?.targetActiveInstances ?? 0) + (deployProgress?.deployInstanceCountPerStep ?? most),
  );
  return {
    id: 'advance-deploy',
    label: 'Advance',
    explains: `The next step of ${deployId}: so many instances of it.`,
    fields: [{ kind: 'number', name: 'instances', label: 'Instances', initial: next, min: 1, max: most }],
    run: (values) =>
      muster.deploys.update({
        body: { requestId, deployId, targetActiveInstances: values.number('instances') ?? next },
      }),
    done: `${deployId} starts its next step`,
    needs: { requestId, scope: 'DEPLOY' },
    outdates: [['request', requestId]],
  };
}

const cancel = (requestId: string, deployId: string): Action => ({
  id: 'cancel-deploy',
  label: 'Cancel deploy',
  isDangerous: true,
  needs: { requestId, scope: 'DEPLOY' },
  explains: `Ends the tasks of ${deployId}; those of the active deploy stay or come back.`,
  fields: [],
  run: () => muster.deploys.cancel({ requestId, deployId }),
  done: `${deployId} is being canceled`,
  outdates: [['request', requestId]],
});
