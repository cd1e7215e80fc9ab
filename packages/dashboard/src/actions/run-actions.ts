import type { PendingRequestParent, RequestParent, RunNowRequest } from 'muster-client';
import { muster } from '../api';
import { paths } from '../ui/links';
import { view } from '../view';
import { expiry, message, type Action, type Values } from './action';
import { how, ofRequest, skipHealthchecks, timed } from './request-action-parts';
import { killCommand, shellBeforeKill } from './shell-command-field';

export function runNow(parent: RequestParent, args: readonly (readonly string[])[] = []): Action {
  const { requestId, ...common } = ofRequest(parent);
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
      { kind: 'check', name: 'alone', label: 'No run follows it', initial: false },
      message,
      {
        kind: 'choice',
        name: 'after',
        label: 'Afterwards',
        initial: 'log',
        choices: [
          ['log', 'Show its log'],
          ['files', 'Show its files'],
          ['stay', 'Stay here'],
        ],
      },
    ],
    run: (values) => muster.requests.run({ requestId, body: runBody(values) }),
    done: `A run of ${requestId} was requested`,
    ...common,
    afterwards: (answer, values, go) => {
      const { runId } = (answer as PendingRequestParent).pendingRequest;
      const after = values.text('after') ?? 'stay';
      if (after === 'stay' || runId === undefined) return;
      go(paths.run(requestId, runId), { show: after });
    },
  };
}

export function runBody(values: Values): RunNowRequest {
  const args = values.lines('args');
  const env = values
    .lines('env')
    .map((line) => [line.split('=')[0]!.trim(), line.slice(line.indexOf('=') + 1)] as const);
  const delay = values.number('delay');
  return {
    message: values.text('message'),
    ...(args.length > 0 && { commandLineArgs: args }),
    ...(env.length > 0 && { envOverrides: Object.fromEntries(env) }),
    ...(values.isSet('alone') && { triggersFollowers: false }),
    ...(delay !== undefined && { runAt: Date.now() + delay }),
  };
}

export function bounce(parent: RequestParent): Action {
  const { requestId, ...common } = ofRequest(parent);
  return {
    id: 'bounce',
    label: 'Restart',
    explains: `Replaces each instance of ${requestId} by a new one of the same deploy. The API calls this a bounce.`,
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
    ...common,
  };
}
