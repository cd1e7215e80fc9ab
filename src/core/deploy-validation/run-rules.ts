import { runProblems } from '../requests/run-now.js';
import { problem, type DeployRule } from './context.js';

/** A run that starts together with the deploy obeys the rules of any run. */
export const runImmediatelyRule: DeployRule = ({ runImmediately: run, resources }, { request, settings, now }) => {
  if (!run) return [];
  if (request.requestType !== 'SCHEDULED' && request.requestType !== 'ON_DEMAND') {
    const message = `is for SCHEDULED and ON_DEMAND requests only, this one is ${request.requestType}`;
    return problem(true, 'runImmediately', 'requestType', message);
  }
  const { maxRunIdSize, maxRunNowTaskLaunchDelayDays } = settings;
  const limits = { ...settings.cluster, maxRunIdSize, maxRunNowTaskLaunchDelayDays };
  const ports = resources?.numPorts ?? 0;
  return [
    ...runProblems(run, now, limits).map((error) => ({
      ...error,
      field: `deploy.runImmediately.${error.field}`,
      message: `deploy.runImmediately.${error.message}`,
    })),
    ...problem(
      run.resources !== undefined && (run.resources.numPorts ?? 0) < ports,
      'runImmediately.resources.numPorts',
      'min',
      `must be at least ${ports}, the number of ports of the deploy`,
    ),
  ];
};
