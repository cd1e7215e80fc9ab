import { contract, path, post, query, unit } from 'rest-contract/client';
import { TaskState } from '../records/task-ids.js';
import { optional, string } from '../schema.js';

/** What tests of the service do to it. Switched off unless it is allowed by its settings. */
export const TestOperationsApi = contract('TestOperationsApi', {
  /** Makes this instance give its leadership up and begin anew, as after an error that it cannot survive. */
  abort: post({}, unit, { path: 'abort' }),
  /** Makes this instance believe that it lost the leadership. */
  loseLeadership: post({}, unit, { path: 'notleader' }),
  /** Makes this instance lead, whichever instance leads now. Answers when it does. */
  gainLeadership: post({}, unit, { path: 'leader' }),
  /** Makes this instance give its leadership up and compete no more. */
  stop: post({}, unit, { path: 'stop' }),
  /** Makes this instance compete for the leadership again. */
  start: post({}, unit, { path: 'start' }),
  /** Ends the connection to the machines and begins it anew. 409 on an instance that does not lead. */
  reconnect: post({}, unit, { path: 'reconnect-cluster' }),
  /** Begins to compare our tasks with those of the machines. 409 on an instance that does not lead. */
  reconcile: post({}, unit, { path: 'reconcile' }),
  /** Puts an active task into a state, whatever really happens to it. 409 on an instance that does not lead. */
  forceStatus: post(
    {
      /** Id of the task. */
      taskId: path(string),
      /** The state. */
      taskState: path(TaskState),
    },
    unit,
    { path: 'scheduler/statusUpdate' },
  ),
  /** Removes what of the history is too old or too much. */
  purgeHistory: post({}, unit, { path: 'purge-history' }),
  /** Removes changes of requests that are too old. */
  purgeRequestHistory: post({}, unit, { path: 'purge-history/request' }),
  /** Removes deploys that are too old. */
  purgeDeployHistory: post({}, unit, { path: 'purge-history/deploy' }),
  /** Has the leader move tasks that have ended to the history now. An addition of version 1.5 of this API. */
  persistTaskHistory: post({}, unit, { path: 'persist-task-history' }),
  /** Fails. */
  fail: post(
    {
      /** Message of the error, for the log. */
      message: query(optional(string)),
    },
    unit,
    { path: 'exception' },
  ),
});
