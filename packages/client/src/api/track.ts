import { contract, get, path } from 'rest-contract/client';
import { SchedulerTaskState } from '../records/task-ids.js';
import { string } from '../schema.js';

/** What became of a task or of a run. */
export const TrackApi = contract('TrackApi', {
  /** Shows the present state of a task, active or ended. */
  task: get(
    {
      /** Id of the task. */
      taskId: path(string),
    },
    SchedulerTaskState,
    { path: 'task' },
  ),
  /** Shows the present state of a run: waiting, active or ended. */
  run: get(
    {
      /** Id of the request. */
      requestId: path(string),
      /** Id of the run, given when it was asked for or made up then. */
      runId: path(string),
    },
    SchedulerTaskState,
    { path: 'run' },
  ),
});
