import { contract, get, query } from 'rest-contract/client';
import { ScheduledTasksInfo, State, TaskReconciliationStatistics } from '../records/state.js';
import { boolean, list, optional, string } from '../schema.js';

/** The service in figures. */
export const StateApi = contract('StateApi', {
  /** Shows the service in figures. */
  get: get(
    {
      /** Compute it now, rather than answer one that was computed within the last half minute. */
      skipCache: query(optional(boolean)),
      /** Add the ids of requests with too many or too few tasks when the state is computed now. */
      includeRequestIds: query(optional(boolean)),
    },
    State,
    { path: '' },
  ),
  /** Shows how the last comparison of our tasks with those of the machines went. */
  lastReconciliation: get({}, TaskReconciliationStatistics, { path: 'task-reconciliation' }),
  /**
   * Shows the tasks that should run by now and do not, and how many others wait. An addition of version 1.5 of this
   * API.
   */
  scheduledTasks: get({}, ScheduledTasksInfo, { path: 'scheduled-tasks-info' }),
  /** Lists the requests with fewer tasks than instances, although nothing is under way to change that. */
  underProvisioned: get(
    {
      /** Compute it now, rather than answer one that was computed within the last half minute. */
      skipCache: query(optional(boolean)),
    },
    list(string),
    { path: 'requests/under-provisioned' },
  ),
  /** Lists the requests with more tasks than instances. */
  overProvisioned: get(
    {
      /** Compute it now, rather than answer one that was computed within the last half minute. */
      skipCache: query(optional(boolean)),
    },
    list(string),
    { path: 'requests/over-provisioned' },
  ),
});
