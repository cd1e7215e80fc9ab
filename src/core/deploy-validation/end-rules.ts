import { graceMillis, graceRules, preStopMillis } from '../launch/index.js';
import { problem, type DeployRule } from './context.js';
import { isPath, notPath } from './healthcheck-rules.js';

/** The end of a task: one who says how long it may take, and a preStop that comes to an end before that. */
export const endRule: DeployRule = (deploy, { settings }) => {
  const { killSignal, killGracePeriodMillis, executorData, preStop, resources } = deploy;
  const grace = graceMillis(deploy, graceRules(settings));
  const { command, http } = preStop ?? {};
  const numPorts = resources?.numPorts ?? 0;
  const portIndex = http?.portIndex ?? 0;
  return [
    ...problem(
      killGracePeriodMillis !== undefined && executorData?.sigKillProcessesAfterMillis !== undefined,
      'killGracePeriodMillis',
      'exclusive',
      'may not be given together with executorData.sigKillProcessesAfterMillis',
    ),
    ...problem(
      killSignal !== undefined && grace === 0,
      'killSignal',
      'grace',
      'may not be given: the task has no time to end by itself, so it gets SIGKILL at once',
    ),
    ...problem(
      preStop !== undefined && !command && !http,
      'preStop.command',
      'required',
      'is required unless preStop.http is given',
    ),
    ...problem(
      command !== undefined && http !== undefined,
      'preStop.http',
      'exclusive',
      'may not be given together with command',
    ),
    ...problem(http !== undefined && (!http.uri || !isPath(http.uri)), 'preStop.http.uri', 'path', notPath),
    ...problem(
      http !== undefined && portIndex >= numPorts,
      'preStop.http.portIndex',
      'range',
      `is ${portIndex} and must be below resources.numPorts, which is ${numPorts}`,
    ),
    ...problem(
      preStop !== undefined && preStopMillis(deploy, grace) >= grace,
      'preStop.timeoutMillis',
      'range',
      `must be below ${grace}, the milliseconds in which the task has to end (killGracePeriodMillis)`,
    ),
  ];
};
