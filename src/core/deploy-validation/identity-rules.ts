import { isLongRunning } from '../model/enums.js';
import { problem, type DeployRule } from './context.js';

export const idRule: DeployRule = ({ id }, { settings }) => {
  if (!id) return problem(true, 'id', 'required', 'is required');
  return [
    ...problem(!/^[a-zA-Z0-9_.]+$/.test(id), 'id', 'pattern', "may contain letters, digits, '_' and '.' only"),
    ...problem(
      id.length > settings.maxDeployIdSize,
      'id',
      'length',
      `must be at most ${settings.maxDeployIdSize} characters long`,
    ),
  ];
};

export const requestIdRule: DeployRule = ({ requestId }, { request }) =>
  problem(requestId !== request.id, 'requestId', 'match', `must be the id of its request, '${request.id}'`);

/** While priorities are frozen, nothing below the frozen level may start to run for ever. */
export const priorityRule: DeployRule = (_deploy, { request, settings, minimumPriorityLevel }) => {
  if (minimumPriorityLevel === undefined || !isLongRunning(request.requestType)) return [];
  const priority =
    request.taskPriorityLevel ??
    settings.defaultTaskPriorityLevelForRequestType[request.requestType] ??
    settings.defaultTaskPriorityLevel;
  return problem(
    priority < minimumPriorityLevel,
    'requestId',
    'priority',
    `names a request of priority ${priority}, but deploys below ${minimumPriorityLevel} are frozen`,
  );
};
