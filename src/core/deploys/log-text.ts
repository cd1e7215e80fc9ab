import type { Deploy, DeployMarker, DeployResult } from '../model/deploy.js';

/** Failures that one line names. */
const mostFailures = 3;

/** One line of a log: a deploy has begun. */
export function deployBeginText(
  { deploy, message }: { deploy: Pick<Deploy, 'requestId' | 'id'>; message?: string },
  user: string,
): string {
  return `Deploy '${deploy.id}' of request '${deploy.requestId}' has begun, asked for by ${user}${said(message)}`;
}

/** One line of a log: how a deploy ended, and why. */
export function deployEndText(
  { requestId, deployId }: DeployMarker,
  { deployState, message, deployFailures = [] }: DeployResult,
): string {
  const reasons = deployFailures.slice(0, mostFailures).map(({ reason, taskId, message: why }) => {
    const task = taskId ? ` of task '${taskId.id}'` : '';
    return `${reason}${task}${said(why)}`;
  });
  const more = deployFailures.length > mostFailures ? [`${deployFailures.length - mostFailures} more`] : [];
  const because = [...reasons, ...more].join('; ');
  return `Deploy '${deployId}' of request '${requestId}' ended as ${deployState}${said(message)}${because ? ` (${because})` : ''}`;
}

const said = (message: string | undefined): string => (message ? `: ${message}` : '');
