import { contract, get, path, query } from 'rest-contract/client';
import { ClusterUtilization, RequestUtilization, SlaveUsageWithId, TaskUsage } from '../records/usage.js';
import { boolean, list, optional, string } from '../schema.js';

/** What slaves and tasks use. */
export const UsageApi = contract('UsageApi', {
  /** Shows what each slave used when it was sampled last. */
  slaves: get({}, list(SlaveUsageWithId), { path: 'slaves' }),
  /** Lists the kept samples of a task, oldest first; none when it was not sampled or they were cleaned up. */
  taskHistory: get(
    {
      /** Id of the task. */
      taskId: path(string, 'history'),
    },
    list(TaskUsage),
    { path: 'tasks' },
  ),
  /** Shows how far what all requests ask for and what they use lie apart. */
  cluster: get({}, ClusterUtilization, { path: 'cluster/utilization' }),
  /** Lists what the tasks of each request use. */
  requests: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(RequestUtilization),
    { path: 'requests' },
  ),
  /** Shows what the tasks of a request use. */
  ofRequest: get(
    {
      /** Id of the request. */
      requestId: path(string),
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    RequestUtilization,
    { path: 'requests/request' },
  ),
});
