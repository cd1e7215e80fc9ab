import type { FieldError } from '../field-error.js';
import { healthcheckTimings } from '../health/index.js';
import { literalHostPorts } from '../launch/index.js';
import type { Deploy, HealthcheckOptions } from '../model/deploy.js';
import { problem, type DeployRule, type DeployValidationSettings } from './context.js';

export const healthcheckRule: DeployRule = (deploy, { settings }) => {
  const { healthcheck } = deploy;
  if (!healthcheck) return [];
  return [...targetProblems(deploy, healthcheck, settings), ...timeProblems(healthcheck, settings)];
};

/** Problems of the target of a check: its path and its port. */
function targetProblems(
  { resources, containerInfo }: Deploy,
  { uri, portIndex, portNumber, ...rest }: HealthcheckOptions,
  { healthcheckPortNumbers }: DeployValidationSettings,
): FieldError[] {
  const numPorts = resources?.numPorts ?? 0;
  const bothPorts = portIndex !== undefined && portNumber !== undefined;
  // Which numbers a task is given nobody knows beforehand, but for those that its container asks for.
  const asked = containerInfo ? literalHostPorts(containerInfo, numPorts) : [];
  const isForeign = portNumber !== undefined && ![...healthcheckPortNumbers, ...asked].includes(portNumber);
  const isPath = uri === undefined || /^(?![a-z][\w+.-]*:\/\/|\/\/|\\)[^\p{Cc}]*$/iu.test(uri);
  const outside = portIndex !== undefined && resources !== undefined && (portIndex < 0 || portIndex >= numPorts);
  return [
    ...problem(
      !uri && !rest.healthcheckResultFilePath,
      'healthcheck.uri',
      'required',
      'is required unless healthcheckResultFilePath is given',
    ),
    ...problem(!isPath, 'healthcheck.uri', 'path', 'must be a path, without a scheme, a host and control characters'),
    ...problem(bothPorts, 'healthcheck.portNumber', 'exclusive', 'may not be given together with portIndex'),
    ...problem(outside, 'healthcheck.portIndex', 'range', `must be below resources.numPorts, which is ${numPorts}`),
    ...problem(
      isForeign,
      'healthcheck.portNumber',
      'ownPort',
      `${portNumber} is no port that the task has for sure: give portIndex, or one of healthcheckPortNumbers`,
    ),
    ...problem(
      Boolean(uri) && numPorts === 0 && portNumber === undefined,
      'resources.numPorts',
      'required',
      'must be at least 1: a health check by uri asks a port of the task, or the one that healthcheck.portNumber names',
    ),
  ];
}

function timeProblems(options: HealthcheckOptions, settings: DeployValidationSettings): FieldError[] {
  const { totalMillis, startupDelayMillis } = healthcheckTimings(options, settings);
  const { healthcheckMaxTotalTimeoutSeconds: maxTotal, killTaskIfNotHealthyAfterSeconds: killAfter } = settings;
  return [
    ...problem(
      maxTotal !== undefined && totalMillis >= maxTotal * 1000,
      'healthcheck',
      'totalTime',
      `may take ${totalMillis / 1000} s in all, but must take less than ${maxTotal} s`,
    ),
    ...problem(
      startupDelayMillis !== undefined && startupDelayMillis >= killAfter * 1000,
      'healthcheck.startupDelaySeconds',
      'range',
      `must be below ${killAfter}, after which a task that is not healthy is killed`,
    ),
  ];
}

/** A running sentinel that has an effect is a path like that of a result file. */
export const runningSentinelRule: DeployRule = ({ executorData }, { settings }) => {
  const path = settings.cluster.local.honorRunningSentinel ? (executorData?.runningSentinel ?? '') : '';
  const leavesDirectory = path.startsWith('/') || path.includes('\0') || path.split('/').includes('..');
  return problem(leavesDirectory, 'executorData.runningSentinel', 'path', "must be a relative path without '..'");
};

export const loadBalancerPortRule: DeployRule = ({ resources, loadBalancerPortIndex: index }) => {
  const numPorts = resources?.numPorts ?? 0;
  const outside = index !== undefined && resources !== undefined && (index < 0 || index >= numPorts);
  return problem(outside, 'loadBalancerPortIndex', 'range', `must be below resources.numPorts, which is ${numPorts}`);
};
