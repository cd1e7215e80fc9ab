import type { RequestParent } from 'muster-client';
import { muster } from '../api';
import { isLongRunning } from '../ui/words';
import { expiry, message, type Action } from './action';
import { ofRequest, skipHealthchecks, timed } from './request-action-parts';
import { killCommand, shellBeforeKill } from './shell-command-field';

export function pause(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
  return {
    id: 'pause',
    label: 'Pause',
    explains: `Ends the tasks of ${requestId} and starts none until it is unpaused.`,
    fields: [
      {
        kind: 'check',
        name: 'letFinish',
        label: 'Let running tasks finish',
        initial: !isLongRunning(parent.request.requestType),
      },
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
    ...common,
  };
}

export function unpause(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
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
    ...common,
  };
}

export function exitCooldown(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
  return {
    id: 'exit-cooldown',
    label: 'Exit cooldown',
    explains: `Ends the cooldown of ${requestId}: its tasks start again at once.`,
    fields: [skipHealthchecks, message],
    run: (values) =>
      muster.requests.exitCooldown({
        requestId,
        body: { message: values.text('message'), skipHealthchecks: values.isSet('skipHealthchecks') || undefined },
      }),
    done: `${requestId} is no longer cooling down`,
    ...common,
  };
}

export function healthchecks(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
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
    ...common,
  };
}

export function setPriority(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
  const present = parent.request.taskPriorityLevel ?? 0.5;
  return {
    id: 'priority',
    label: 'Set priority',
    explains: 'From 0 to 1. A priority freeze keeps tasks below its level from starting.',
    fields: [
      { kind: 'number', name: 'priority', label: 'Priority', initial: present, min: 0, max: 1, step: 0.01 },
      expiry,
      message,
    ],
    run: (values) =>
      muster.requests.setPriority({
        requestId,
        body: { ...timed(values), priority: values.number('priority') ?? present },
      }),
    done: 'The priority was set',
    undo: { label: 'Undo', run: () => muster.requests.setPriority({ requestId, body: { priority: present } }) },
    ...common,
  };
}
