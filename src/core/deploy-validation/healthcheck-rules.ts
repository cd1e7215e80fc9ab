import type { FieldError } from '../field-error.js';
import { healthcheckTimings } from '../health/index.js';
import { literalHostPorts } from '../launch/index.js';
import type { Deploy, HealthcheckOptions } from '../model/deploy.js';
import { type HealthcheckType, isLongRunning, type RequestType } from '../model/enums.js';
import { problem, type DeployRule, type DeployValidationSettings } from './context.js';

export const healthcheckRule: DeployRule = (deploy, { request, settings }) => {
  const { healthcheck } = deploy;
  if (!healthcheck) return [];
  return [
    ...kindProblems(healthcheck, request.requestType),
    ...targetProblems(deploy, healthcheck, settings),
    ...timeProblems(healthcheck, settings),
    ...livenessProblems(healthcheck, request.requestType),
  ];
};

/** Members that say how to ask, with the kinds of checks that they are for. */
const membersOfKinds: readonly { member: keyof HealthcheckOptions; kinds: readonly HealthcheckType[] }[] = [
  { member: 'uri', kinds: ['HTTP'] },
  { member: 'protocol', kinds: ['HTTP'] },
  { member: 'method', kinds: ['HTTP'] },
  { member: 'failureStatusCodes', kinds: ['HTTP'] },
  { member: 'portIndex', kinds: ['HTTP', 'TCP', 'GRPC'] },
  { member: 'portNumber', kinds: ['HTTP', 'TCP', 'GRPC'] },
  { member: 'command', kinds: ['COMMAND'] },
];

/** Members that would have no effect on a check of this kind. */
function kindProblems(options: HealthcheckOptions, requestType: RequestType): FieldError[] {
  const { type, command, healthcheckResultFilePath: file } = options;
  const kind = type ?? 'HTTP';
  return [
    ...problem(
      type !== undefined && !isLongRunning(requestType),
      'healthcheck.type',
      'requestType',
      `is for SERVICE and WORKER requests only, this one is ${requestType}`,
    ),
    ...problem(
      type !== undefined && file !== undefined,
      'healthcheck.type',
      'exclusive',
      'may not be given together with healthcheckResultFilePath, which is a check of its own',
    ),
    ...problem(kind === 'COMMAND' && !command, 'healthcheck.command', 'required', 'is required for type COMMAND'),
    ...membersOfKinds.flatMap(({ member, kinds }) =>
      problem(
        options[member] !== undefined && !kinds.includes(kind),
        `healthcheck.${member}`,
        'type',
        `may not be given for type ${kind}`,
      ),
    ),
  ];
}

const isHttp = ({ type = 'HTTP' }: HealthcheckOptions): boolean => type === 'HTTP';

export const isPath = (uri: string | undefined): boolean =>
  uri === undefined || /^(?![a-z][\w+.-]*:\/\/|\/\/|\\)[^\p{Cc}]*$/iu.test(uri);
export const notPath = 'must be a path, without a scheme, a host and control characters';

/** Problems of the target of a check: its path and its port. */
function targetProblems(
  { resources, containerInfo }: Deploy,
  options: HealthcheckOptions,
  { healthcheckPortNumbers }: DeployValidationSettings,
): FieldError[] {
  const { uri, portIndex, portNumber, healthcheckResultFilePath: file } = options;
  const numPorts = resources?.numPorts ?? 0;
  const bothPorts = portIndex !== undefined && portNumber !== undefined;
  // Which numbers a task is given nobody knows beforehand, but for those that its container asks for.
  const asked = containerInfo ? literalHostPorts(containerInfo, numPorts) : [];
  const isForeign = portNumber !== undefined && ![...healthcheckPortNumbers, ...asked].includes(portNumber);
  const asksPort = isHttp(options) ? Boolean(uri) : options.type !== 'COMMAND';
  const outside = portIndex !== undefined && resources !== undefined && (portIndex < 0 || portIndex >= numPorts);
  return [
    ...problem(
      isHttp(options) && !uri && !file,
      'healthcheck.uri',
      'required',
      'is required unless healthcheckResultFilePath is given',
    ),
    ...problem(!isPath(uri), 'healthcheck.uri', 'path', notPath),
    ...problem(bothPorts, 'healthcheck.portNumber', 'exclusive', 'may not be given together with portIndex'),
    ...problem(outside, 'healthcheck.portIndex', 'range', `must be below resources.numPorts, which is ${numPorts}`),
    ...problem(
      isForeign,
      'healthcheck.portNumber',
      'ownPort',
      `${portNumber} is no port that the task has for sure: give portIndex, or one of healthcheckPortNumbers`,
    ),
    ...problem(
      asksPort && numPorts === 0 && portNumber === undefined,
      'resources.numPorts',
      'required',
      `must be at least 1: a health check by ${isHttp(options) ? 'uri' : options.type} asks a port of the task, or the one that healthcheck.portNumber names`,
    ),
  ];
}

/** Liveness that could not be asked for, or would have no effect. */
function livenessProblems(options: HealthcheckOptions, requestType: RequestType): FieldError[] {
  const { liveness, type, healthcheckResultFilePath: file } = options;
  if (!liveness) return [];
  const { uri, action, maxUnhealthyReplacements: most } = liveness;
  return [
    ...problem(
      !isLongRunning(requestType),
      'healthcheck.liveness',
      'requestType',
      `is for SERVICE and WORKER requests only, this one is ${requestType}`,
    ),
    ...problem(
      file !== undefined,
      'healthcheck.liveness',
      'exclusive',
      'may not be given together with healthcheckResultFilePath, which nobody looks at after the start',
    ),
    ...problem(
      uri !== undefined && !isHttp(options),
      'healthcheck.liveness.uri',
      'type',
      `may not be given for type ${type}`,
    ),
    ...problem(uri === '' || !isPath(uri), 'healthcheck.liveness.uri', 'path', notPath),
    ...problem(
      action === 'NONE' && most !== undefined,
      'healthcheck.liveness.maxUnhealthyReplacements',
      'action',
      'may not be given with action NONE, which replaces nothing',
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
