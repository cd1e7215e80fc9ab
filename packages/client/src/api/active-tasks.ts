import { del, get, path, query } from 'rest-contract/client';
import { TaskExplanation } from '../records/explanations.js';
import { KilledTaskIdRecord, TaskCleanup } from '../records/task-actions.js';
import { PendingTaskId, TaskCounts, TaskHistoryUpdate, TaskId, TaskIdsByStatus } from '../records/task-ids.js';
import { PendingTask, Task, TaskRequest } from '../records/tasks.js';
import { boolean, list, map, optional, string } from '../schema.js';

export const activeTasks = {
  /** Lists all active tasks. */
  active: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(Task),
    { path: 'active' },
  ),
  /** Lists the ids of all active tasks. */
  activeIds: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(TaskId),
    { path: 'active/ids' },
  ),
  /** Lists the updates of all active tasks, by task id. */
  activeStates: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    map(list(TaskHistoryUpdate)),
    { path: 'active/states' },
  ),
  /** Lists the active tasks of one slave. */
  ofSlave: get(
    {
      /** Id of the slave. */
      slaveId: path(string),
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(Task),
    { path: 'active/slave' },
  ),
  /** Lists the ids of the active tasks of one slave. */
  idsOfSlave: get(
    {
      /** Id of the slave. */
      slaveId: path(string, 'ids'),
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(TaskId),
    { path: 'active/slave' },
  ),
  /** Lists the tasks that have to go, and why. */
  cleaning: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(TaskCleanup),
    { path: 'cleaning' },
  ),
  /** Lists the tasks whose kill was sent and whose end has not been reported yet. */
  killed: get({}, list(KilledTaskIdRecord), { path: 'killed' }),
  /** Sorts the tasks of one request by how they are doing. */
  idsOfRequest: get(
    {
      /** Id of the request. */
      requestId: path(string),
    },
    TaskIdsByStatus,
    { path: 'ids/request' },
  ),
  /** Counts the tasks of one request. One that is not there has none. An addition of version 1.5 of this API. */
  countsOfRequest: get(
    {
      /** Id of the request. */
      requestId: path(string),
    },
    TaskCounts,
    { path: 'counts/request' },
  ),
  /** Lists the tasks that wait for their time or for a machine, the next one first. */
  scheduled: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(TaskRequest),
    { path: 'scheduled' },
  ),
  /** Lists the ids of the tasks that wait for their time or for a machine, the next one first. */
  scheduledIds: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(PendingTaskId),
    { path: 'scheduled/ids' },
  ),
  /** Lists the waiting tasks of one request. */
  scheduledOfRequest: get(
    {
      /** Id of the request. */
      requestId: path(string),
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(TaskRequest),
    { path: 'scheduled/request' },
  ),
  /** Shows one waiting task. */
  getScheduled: get(
    {
      /** Id of the pending task. */
      pendingTaskId: path(string),
    },
    TaskRequest,
    { path: 'scheduled/task' },
  ),
  /** Deletes a waiting task of an ON_DEMAND request. */
  removeScheduled: del(
    {
      /** Id of the pending task. */
      scheduledTaskId: path(string),
    },
    PendingTask,
    { path: 'scheduled/task' },
  ),
  /** Lists the tasks that have ended and wait to be taken off the load balancer. */
  leavingLoadBalancer: get({}, list(TaskId), { path: 'lbcleanup' }),
  /** Says why a waiting task is not running, with the number of slaves per reason against it. An addition of Muster. */
  explain: get(
    {
      /** Id of the pending task. */
      pendingTaskId: path(string, 'explain'),
    },
    TaskExplanation,
    { path: 'scheduled/task' },
  ),
};
