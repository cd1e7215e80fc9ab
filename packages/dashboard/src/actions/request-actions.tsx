import type { RequestParent, RollbackRequest, RunNowRequest } from 'muster-client';
import { muster } from '../api';
import { isLongRunning } from '../ui/words';
import { view } from '../view';
import { isLargeScaleDown } from './large-scale-down';
import { expiry, message, type Action, type Field, type Values } from './action';
import { killCommand, shellBeforeKill } from './shell-command-field';
import { ScalePlanView } from '../ui/plan';

const skipHealthchecks: Field = { kind: 'check', name: 'skipHealthchecks', label: 'Skip health checks', initial: false };
const how: Field = {
  kind: 'choice',
  name: 'how',
  label: 'How',
  initial: 'incremental',
  choices: [
    ['incremental', 'One after the other'],
    ['all', 'All at once'],
  ],
};

const timed = (values: Values) => ({ message: values.text('message'), durationMillis: values.number('durationMillis') });

/** What may be done with a request as it is now, in the order of its menu. */
export function requestActions(parent: RequestParent): readonly Action[] {
  const { request, state } = parent;
  const hasDeploy = parent.requestDeployState?.activeDeploy !== undefined;
  const longRunning = isLongRunning(request.requestType);
  const isPaused = state === 'PAUSED';
  const isOn = state === 'ACTIVE' || state === 'SYSTEM_COOLDOWN';
  const actions: readonly (Action | false)[] = [
    isOn && hasDeploy && (request.requestType === 'SCHEDULED' || request.requestType === 'ON_DEMAND') && runNow(parent),
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

const of = (parent: RequestParent) => {
  const requestId = parent.request.id;
  return { requestId, outdates: [['request', requestId], ['troubles'], ['tasks']] };
};

export function runNow(parent: RequestParent, args: readonly (readonly string[])[] = []): Action {
  const { requestId, outdates } = of(parent);
  const suggestions = args.map((each) => each.join(' '));
  return {
    id: 'run',
    label: 'Run now',
    explains: `Starts a run of ${requestId} beside those that are planned.`,
    fields: [
      {
        kind: 'lines',
        name: 'args',
        label: 'Arguments, one a line',
        help: suggestions.length > 0 ? `Last time: ${suggestions[0]}` : 'Empty: those of the deploy',
      },
      { kind: 'lines', name: 'env', label: 'Environment, NAME=value a line', help: 'Over that of the deploy' },
      { kind: 'duration', name: 'delay', label: 'Begin after', help: 'Such as 10m; empty: now' },
      message,
      {
        kind: 'choice',
        name: 'after',
        label: 'Afterwards',
        initial: 'log',
        choices: [
          ['log', 'Show its log'],
          ['stay', 'Stay here'],
        ],
      },
    ],
    run: (values) => muster.requests.run({ requestId, body: runBody(values) }),
    done: `A run of ${requestId} was asked for`,
    outdates,
    then: (answer, values) => {
      const runId = (answer as { pendingRequest: { runId?: string } }).pendingRequest.runId;
      if (values.text('after') === 'log' && runId !== undefined)
        location.assign(`${view.appRoot}/request/${encodeURIComponent(requestId)}/run/${encodeURIComponent(runId)}`);
    },
  };
}

export function runBody(values: Values): RunNowRequest {
  const args = values.lines('args');
  const env = values.lines('env').map((line) => [line.split('=')[0]!.trim(), line.slice(line.indexOf('=') + 1)] as const);
  const delay = values.number('delay');
  return {
    message: values.text('message'),
    ...(args.length > 0 && { commandLineArgs: args }),
    ...(env.length > 0 && { envOverrides: Object.fromEntries(env) }),
    ...(delay !== undefined && { runAt: Date.now() + delay }),
  };
}

function bounce(parent: RequestParent): Action {
  const { requestId, outdates } = of(parent);
  return {
    id: 'bounce',
    label: 'Restart',
    explains: `Replaces each instance of ${requestId} by a new one of the same deploy. The service calls it a bounce.`,
    fields: [
      how,
      skipHealthchecks,
      ...shellBeforeKill,
      { ...expiry, label: 'Give up after', help: `Empty: ${view.defaultBounceExpirationMinutes} minutes` },
      message,
    ],
    run: (values) =>
      muster.requests.bounce({
        requestId,
        body: {
          ...timed(values),
          incremental: values.text('how') === 'incremental',
          skipHealthchecks: values.isSet('skipHealthchecks') || undefined,
          ...killCommand(values),
        },
      }),
    done: `${requestId} is being restarted`,
    outdates,
  };
}

export function scale(parent: RequestParent): Action {
  const { requestId, outdates } = of(parent);
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
      { kind: 'check', name: 'bounce', label: 'Restart all instances as well', initial: parent.request.bounceAfterScale ?? false },
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
      muster.requests.scale({ requestId, body: bodyOf(values), ...acknowledged(values), ...(checkIndex && { checkIndex }) }),
    done: `${requestId} is being scaled`,
    undo: {
      label: `Back to ${present}`,
      run: () => muster.requests.scale({ requestId, body: { instances: present }, largeScaleDownAcknowledged: true }),
    },
    outdates,
  };
}

function pause(parent: RequestParent): Action {
  const { requestId, outdates } = of(parent);
  return {
    id: 'pause',
    label: 'Pause',
    explains: `Ends the tasks of ${requestId} and starts none until it is unpaused.`,
    fields: [
      { kind: 'check', name: 'letFinish', label: 'Let running tasks finish', initial: !isLongRunning(parent.request.requestType) },
      ...shellBeforeKill,
      expiry,
      message,
    ],
    run: (values) =>
      muster.requests.pause({
        requestId,
        body: { ...timed(values), killTasks: !values.isSet('letFinish'), ...killCommand(values) },
      }),
    done: `${requestId} is paused`,
    undo: { label: 'Unpause', run: () => muster.requests.unpause({ requestId, body: {} }) },
    outdates,
  };
}

function unpause(parent: RequestParent): Action {
  const { requestId, outdates } = of(parent);
  return {
    id: 'unpause',
    label: 'Unpause',
    explains: `Starts the tasks of ${requestId} again.`,
    fields: [skipHealthchecks, message],
    run: (values) =>
      muster.requests.unpause({
        requestId,
        body: { message: values.text('message'), skipHealthchecks: values.isSet('skipHealthchecks') || undefined },
      }),
    done: `${requestId} is no longer paused`,
    undo: { label: 'Pause', run: () => muster.requests.pause({ requestId, body: {} }) },
    outdates,
  };
}

function exitCooldown(parent: RequestParent): Action {
  const { requestId, outdates } = of(parent);
  return {
    id: 'exit-cooldown',
    label: 'Exit cooldown',
    explains: `Tries ${requestId} again at once, without the pause that its failures have brought.`,
    fields: [skipHealthchecks, message],
    run: (values) =>
      muster.requests.exitCooldown({
        requestId,
        body: { message: values.text('message'), skipHealthchecks: values.isSet('skipHealthchecks') || undefined },
      }),
    done: `${requestId} is no longer cooling down`,
    outdates,
  };
}

export function rollBack(parent: RequestParent, deployId?: string): Action {
  const { requestId, outdates } = of(parent);
  return {
    id: 'roll-back',
    label: 'Roll back',
    explains: `Deploys ${deployId === undefined ? 'the version before the present one' : deployId} of ${requestId} again, under a new id.`,
    fields: deployId === undefined ? [{ kind: 'text', name: 'deployId', label: 'To deploy', help: 'Empty: the last one that succeeded before the present' }, message] : [message],
    run: (values) => {
      const to = deployId ?? values.text('deployId');
      const body: RollbackRequest = { message: values.text('message'), ...(to !== undefined && { deployId: to }) };
      return muster.deploys.rollBack({ requestId, body });
    },
    done: `${requestId} is being rolled back`,
    outdates,
  };
}

function healthchecks(parent: RequestParent): Action {
  const { requestId, outdates } = of(parent);
  const skips = parent.request.skipHealthchecks === true;
  const set = (skip: boolean, more: object = {}) =>
    muster.requests.skipHealthchecks({ requestId, body: { skipHealthchecks: skip, ...more } });
  return {
    id: 'healthchecks',
    label: skips ? 'Use health checks' : 'Skip health checks',
    explains: skips
      ? `Tasks of ${requestId} have to be healthy again before they count.`
      : `Tasks of ${requestId} count as healthy without being asked.`,
    fields: [{ ...expiry, help: `${expiry.help ?? ''}. Below one hour, tasks that start late may miss it` }, message],
    run: (values) => set(!skips, timed(values)),
    done: skips ? 'Health checks are used' : 'Health checks are skipped',
    undo: { label: 'Undo', run: () => set(skips) },
    outdates,
  };
}

function setPriority(parent: RequestParent): Action {
  const { requestId, outdates } = of(parent);
  const present = parent.request.taskPriorityLevel ?? 0.5;
  return {
    id: 'priority',
    label: 'Set priority',
    explains: 'From 0 to 1. A priority freeze keeps tasks below its level from starting.',
    fields: [{ kind: 'number', name: 'priority', label: 'Priority', initial: present, min: 0, max: 1, step: 0.01 }, expiry, message],
    run: (values) =>
      muster.requests.setPriority({ requestId, body: { ...timed(values), priority: values.number('priority') ?? present } }),
    done: 'The priority was set',
    undo: { label: 'Undo', run: () => muster.requests.setPriority({ requestId, body: { priority: present } }) },
    outdates,
  };
}

function remove(parent: RequestParent): Action {
  const { requestId, outdates } = of(parent);
  const { loadBalanced } = parent.request;
  return {
    id: 'remove',
    label: 'Remove',
    isDangerous: true,
    explains: `Ends all tasks of ${requestId} and removes it with its deploys. Its history stays.`,
    fields: [
      ...(loadBalanced
        ? [{ kind: 'check', name: 'balancer', label: 'Remove it from the load balancer, too', initial: true } as const]
        : []),
      message,
    ],
    typed: requestId,
    run: (values) =>
      muster.requests.remove({
        requestId,
        body: { message: values.text('message'), ...(loadBalanced && { deleteFromLoadBalancer: values.isSet('balancer') }) },
      }),
    done: `${requestId} is being removed`,
    outdates,
  };
}
