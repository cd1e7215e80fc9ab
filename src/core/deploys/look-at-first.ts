import type { DeployFailureReason } from '../model/enums.js';
import type { DeployResult } from '../model/deploy.js';

/** Place where an operator finds out why a deploy failed; undefined: it has not failed. */
export function lookAtFirst(
  { deployState, deployFailures, lbUpdate }: DeployResult,
  gateFailed = false,
): string | undefined {
  if (deployState !== 'FAILED' && deployState !== 'OVERDUE' && deployState !== 'FAILED_INTERNAL_STATE')
    return undefined;
  const [failure] = deployFailures;
  if (failure === undefined && gateFailed)
    return 'gates in the history of the deploy, with the measurements of the one that failed';
  if (failure === undefined) return lbUpdate ? places.LOAD_BALANCER_UPDATE_FAILED : overdue;
  const place = places[failure.reason] ?? overdue;
  return failure.taskId ? place.replaceAll('TASK', () => failure.taskId!.id) : place;
}

const history = 'GET /api/history/task/TASK';
const output = 'GET /api/sandbox/TASK/read?path=stderr and stdout';
const overdue =
  'what its tasks wait for and say in the history of the deploy, then the time limits: deployHealthTimeoutSeconds, healthcheck';

/** TASK stands for the id of the first task that failed. */
const places: Partial<Record<DeployFailureReason, string>> & { LOAD_BALANCER_UPDATE_FAILED: string } = {
  TASK_FAILED_ON_STARTUP: `its last status message in ${history}, then its output: ${output}`,
  TASK_EXPECTED_RUNNING_FINISHED: `the command, which ended although tasks of a SERVICE or WORKER run on; its output: ${output}`,
  TASK_FAILED_HEALTH_CHECKS: `healthcheckResults in ${history}, then its output: ${output}`,
  TASK_COULD_NOT_BE_SCHEDULED:
    'the resources and the placement that were asked for, against what GET /api/slaves shows to be free',
  TASK_NEVER_ENTERED_RUNNING: `the messages in ${history}, about artifacts above all, then the file shim.log of the task`,
  LOAD_BALANCER_UPDATE_FAILED: 'deployResult.lbUpdate in the history of the deploy, then the log of the load balancer',
};
