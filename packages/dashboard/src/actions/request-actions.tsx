import type { RequestParent, RollbackRequest } from 'muster-client';
import { muster } from '../api';
import { ScalePlanView } from '../ui/plan';
import { isLongRunning } from '../ui/words';
import { backfill } from './backfill-actions';
import { expiry, message, type Action, type Values } from './action';
import { isLargeScaleDown } from './large-scale-down';
import { how, ofRequest, timed } from './request-action-parts';
import { bounce, runNow } from './run-actions';
import { exitCooldown, healthchecks, pause, setPriority, unpause } from './standing-actions';

/** What may be done with a request as it is now, in the order of its menu. */
export function requestActions(parent: RequestParent): readonly Action[] {
  const { request, state } = parent;
  const hasDeploy = parent.requestDeployState?.activeDeploy !== undefined;
  const longRunning = isLongRunning(request.requestType);
  const isPaused = state === 'PAUSED';
  const isOn = state === 'ACTIVE' || state === 'SYSTEM_COOLDOWN';
  const actions: readonly (Action | false)[] = [
    isOn && hasDeploy && (request.requestType === 'SCHEDULED' || request.requestType === 'ON_DEMAND') && runNow(parent),
    isOn && hasDeploy && request.requestType === 'SCHEDULED' && backfill(parent),
    isOn && hasDeploy && longRunning && bounce(parent),
    isOn && hasDeploy && longRunning && scale(parent),
    isPaused ? unpause(parent) : state !== 'FINISHED' && state !== 'DELETING' && pause(parent),
    state === 'SYSTEM_COOLDOWN' && exitCooldown(parent),
    hasDeploy && parent.pendingDeploy === undefined && rollBack(parent),
    longRunning && healthchecks(parent),
    setPriority(parent),
    state !== 'DELETING' && remove(parent),
  ];
  return actions.filter((action) => action !== false);
}

export function scale(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
  const present = parent.request.instances ?? 1;
  let checkIndex: string | undefined;
  const bodyOf = (values: Values) => ({
    ...timed(values),
    instances: values.number('instances') ?? present,
    bounce: values.isSet('bounce') || undefined,
    ...(values.isSet('bounce') && { incremental: values.text('how') === 'incremental' }),
  });
  const isLarge = (values: Values) => isLargeScaleDown(present, values.number('instances') ?? present);
  const acknowledged = (values: Values) => (isLarge(values) ? { largeScaleDownAcknowledged: true } : {});
  return {
    id: 'scale',
    label: 'Scale',
    explains: `${requestId} has ${present} now.`,
    fields: [
      { kind: 'number', name: 'instances', label: 'Instances', initial: present, min: 0 },
      {
        kind: 'check',
        name: 'bounce',
        label: 'Restart all instances as well',
        initial: parent.request.bounceAfterScale ?? false,
      },
      how,
      expiry,
      message,
    ],
    typed: (values) => (isLarge(values) ? requestId : undefined),
    plan: async (values) => {
      const plan = await muster.requests.planScale({ requestId, body: bodyOf(values), ...acknowledged(values) });
      checkIndex = plan.checkIndex;
      return <ScalePlanView plan={plan} />;
    },
    run: (values) =>
      muster.requests.scale({
        requestId,
        body: bodyOf(values),
        ...acknowledged(values),
        ...(checkIndex && { checkIndex }),
      }),
    done: `${requestId} is being scaled`,
    undo: {
      label: `Back to ${present}`,
      run: () => muster.requests.scale({ requestId, body: { instances: present }, largeScaleDownAcknowledged: true }),
    },
    ...common,
  };
}

export function rollBack(parent: RequestParent, deployId?: string): Action {
  const { requestId, ...common } = ofRequest(parent);
  return {
    id: 'roll-back',
    label: 'Roll back',
    explains: `Deploys ${deployId === undefined ? 'the version before the present one' : deployId} of ${requestId} again, under a new id.`,
    fields:
      deployId === undefined
        ? [
            {
              kind: 'text',
              name: 'deployId',
              label: 'To deploy',
              help: 'Empty: the last successful deploy before the active one',
            },
            message,
          ]
        : [message],
    run: (values) => {
      const to = deployId ?? values.text('deployId');
      const body: RollbackRequest = { message: values.text('message'), ...(to !== undefined && { deployId: to }) };
      return muster.deploys.rollBack({ requestId, body });
    },
    done: `${requestId} is being rolled back`,
    ...common,
    needs: { requestId, scope: 'DEPLOY' },
  };
}

function remove(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
  const { loadBalanced, requestType } = parent.request;
  const longRunning = isLongRunning(requestType);
  return {
    id: 'remove',
    label: 'Remove',
    isDangerous: true,
    explains: `Ends all tasks of ${requestId} and removes it with its deploys. Its history stays.`,
    fields: [
      ...(longRunning
        ? []
        : [
            {
              kind: 'check',
              name: 'force',
              label: 'Although others follow it, and without grace',
              initial: false,
            } as const,
          ]),
      ...(loadBalanced
        ? [{ kind: 'check', name: 'balancer', label: 'Remove it from the load balancer, too', initial: true } as const]
        : []),
      message,
    ],
    typed: requestId,
    run: (values) =>
      muster.requests.remove({
        requestId,
        body: {
          message: values.text('message'),
          force: values.isSet('force') || undefined,
          ...(loadBalanced && { deleteFromLoadBalancer: values.isSet('balancer') }),
        },
      }),
    done: `${requestId} is being removed`,
    ...common,
  };
}
