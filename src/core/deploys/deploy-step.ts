import type { HealthContext } from '../health/index.js';
import { isLongRunning } from '../model/enums.js';
import { canaryStep } from './canary-step.js';
import { classicStep } from './classic-step.js';
import { endDeploy } from './ending.js';
import { judgeFailures } from './failed-tasks.js';
import { mayDeploy } from './may-deploy.js';
import { canceled, succeeded, unsuccessful } from './outcomes.js';
import { isCanaryEngine } from './progress.js';
import { finish, type DeployStep, type Rollout } from './step.js';
import { effectiveRequest, type DeployTask, type DeployView } from './view.js';

/** What one look at a deploy in progress leads to. The order of the rules is the policy. */
export function nextDeployStep(seen: DeployView, now: number): DeployStep {
  // What is listed of tasks, such as their failures, stands in the same order whatever order the rows came in.
  const view = { ...seen, tasks: seen.tasks.toSorted((a, b) => (a.taskId.id < b.taskId.id ? -1 : 1)) };
  if (view.ending) return endDeploy(view, view.ending.outcome, now);
  const request = effectiveRequest(view);
  if (!request || !mayDeploy(view)) {
    return endDeploy(
      view,
      unsuccessful('FAILED', `Request is in state ${view.requestState}, which ends the deploy`),
      now,
    );
  }
  const { deploy, progress } = view;
  // Who uses canary settings may stop a deploy whatever has become of its tasks.
  const isCanary = progress !== undefined && isCanaryEngine(progress);
  if (isCanary && view.cancel) return endDeploy(view, canceled(view), now);
  if (!isLongRunning(request.requestType))
    return finish(succeeded(`Tasks of ${request.requestType} requests are not rolled out`));
  if (view.requestState === 'PAUSED')
    return finish(succeeded('Request is paused, its tasks start when it is unpaused'));
  if (!deploy) return finish(unsuccessful('FAILED_INTERNAL_STATE', 'The data of the deploy is missing'));
  if (!progress) return finish(unsuccessful('FAILED', 'The progress of the deploy is missing'));

  const context: HealthContext = {
    deploy,
    deployPending: true,
    requestSkips: request.skipHealthchecks === true,
    settings: view.settings,
  };
  return rollOut({ view, progress, context, now });
}

function rollOut(rollout: Rollout): DeployStep {
  const { view, progress, context, now } = rollout;
  const { canaryDeploySettings: canary } = context.deploy;
  const failures = judgeFailures(view, context, now);
  if (failures.kind === 'fail') return endDeploy(view, failures.outcome, now);
  if (view.cancel) return endDeploy(view, canceled(view), now);
  if (canary && isCanaryEngine(progress)) return canaryStep({ ...rollout, progress }, canary);
  return failures.kind === 'retry' ? retry(rollout, failures.failed) : classicStep(rollout);
}

const retry = ({ progress, now }: Rollout, failed: readonly DeployTask[]): DeployStep => ({
  kind: 'proceed',
  progress: { ...progress, failedDeployTasks: failed.map((task) => task.taskId), timestamp: now },
  retire: [],
  schedule: ['NEW'],
});
