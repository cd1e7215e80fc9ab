import { isLongRunning } from '../model/enums.js';
import { instancesOf } from '../model/request.js';
import { isOldFirst, maxUnavailableOf } from '../model/strategy.js';
import { type DeployRule, problem } from './context.js';

/** Old tasks that end first: of a service, and no more at a time than may be missing. */
export const strategyRule: DeployRule = (deploy, { request }) => {
  const { maxUnavailable, deployInstanceCountPerStep: perStep, canaryDeploySettings: canary } = deploy;
  if (!isOldFirst(deploy)) {
    return problem(
      maxUnavailable !== undefined,
      'maxUnavailable',
      'strategy',
      'may be given with deployStrategy OLD_FIRST only',
    );
  }
  const { requestType } = request;
  const most = maxUnavailableOf(deploy);
  const instances = instancesOf(request);
  const atMost = `must be at most ${most}, which is maxUnavailable`;
  return [
    ...problem(
      !isLongRunning(requestType),
      'deployStrategy',
      'requestType',
      `OLD_FIRST is for SERVICE and WORKER requests only, this one is ${requestType}`,
    ),
    ...problem(
      isLongRunning(requestType) && most > instances,
      'maxUnavailable',
      'max',
      `must be at most ${instances}, the instances of the request`,
    ),
    ...problem(
      perStep !== undefined && canary === undefined && perStep > most,
      'deployInstanceCountPerStep',
      'max',
      `${atMost}: a step of deployStrategy OLD_FIRST replaces no more`,
    ),
    ...problem(
      canary !== undefined && !canary.enableCanaryDeploy,
      'canaryDeploySettings.enableCanaryDeploy',
      'strategy',
      'must be true with deployStrategy OLD_FIRST: new tasks do not stand beside all old ones',
    ),
    ...problem(
      canary?.enableCanaryDeploy === true && canary.instanceGroupSize > most,
      'canaryDeploySettings.instanceGroupSize',
      'max',
      atMost,
    ),
  ];
};
