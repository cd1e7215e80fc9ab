import { get, path, query } from 'rest-contract/client';
import { PaginatedResponseOfTaskIdHistory, TaskHistory } from '../records/history.js';
import { TaskIdHistory, TaskState } from '../records/task-ids.js';
import { boolean, int32, int64, list, optional, string, words } from '../schema.js';

export const taskHistory = {
  /** Searches the ended tasks of all requests. */
  tasks: get(
    {
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
      /** Only of this deploy. */
      deployId: query(optional(string)),
      /** Only of this run. */
      runId: query(optional(string)),
      /** Only those that ran on this host. */
      host: query(optional(string)),
      /** Only those that ended in this state. */
      lastTaskStatus: query(optional(TaskState)),
      /** Only those launched before this time, in epoch milliseconds. */
      startedBefore: query(optional(int64)),
      /** Only those launched after this time. */
      startedAfter: query(optional(int64)),
      /** Only those whose last update came before this time. */
      updatedBefore: query(optional(int64)),
      /** Only those whose last update came after this time. */
      updatedAfter: query(optional(int64)),
      /** Order by the last update; default: DESC. */
      orderDirection: query(optional(words('ASC', 'DESC'))),
      /** Only of this request. */
      requestId: query(optional(string)),
    },
    list(TaskIdHistory),
    { path: 'tasks' },
  ),
  /** Searches the ended tasks of all requests, and counts them. */
  tasksPage: get(
    {
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
      /** Only of this deploy. */
      deployId: query(optional(string)),
      /** Only of this run. */
      runId: query(optional(string)),
      /** Only those that ran on this host. */
      host: query(optional(string)),
      /** Only those that ended in this state. */
      lastTaskStatus: query(optional(TaskState)),
      /** Only those launched before this time, in epoch milliseconds. */
      startedBefore: query(optional(int64)),
      /** Only those launched after this time. */
      startedAfter: query(optional(int64)),
      /** Only those whose last update came before this time. */
      updatedBefore: query(optional(int64)),
      /** Only those whose last update came after this time. */
      updatedAfter: query(optional(int64)),
      /** Order by the last update; default: DESC. */
      orderDirection: query(optional(words('ASC', 'DESC'))),
      /** Only of this request. */
      requestId: query(optional(string)),
    },
    PaginatedResponseOfTaskIdHistory,
    { path: 'tasks/withmetadata' },
  ),
  /** Shows everything known of one task, active or ended. */
  task: get(
    {
      /** Id of the task. */
      taskId: path(string),
    },
    TaskHistory,
    { path: 'task' },
  ),
  /** Searches the ended tasks of one request. */
  tasksOfRequest: get(
    {
      /** Id of the request. */
      requestId: path(string, 'tasks'),
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
      /** Only of this deploy. */
      deployId: query(optional(string)),
      /** Only of this run. */
      runId: query(optional(string)),
      /** Only those that ran on this host. */
      host: query(optional(string)),
      /** Only those that ended in this state. */
      lastTaskStatus: query(optional(TaskState)),
      /** Only those launched before this time, in epoch milliseconds. */
      startedBefore: query(optional(int64)),
      /** Only those launched after this time. */
      startedAfter: query(optional(int64)),
      /** Only those whose last update came before this time. */
      updatedBefore: query(optional(int64)),
      /** Only those whose last update came after this time. */
      updatedAfter: query(optional(int64)),
      /** Order by the last update; default: DESC. */
      orderDirection: query(optional(words('ASC', 'DESC'))),
    },
    list(TaskIdHistory),
    { path: 'request' },
  ),
  /** Searches the ended tasks of one request, and counts them. */
  tasksOfRequestPage: get(
    {
      /** Id of the request. */
      requestId: path(string, 'tasks/withmetadata'),
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
      /** Only of this deploy. */
      deployId: query(optional(string)),
      /** Only of this run. */
      runId: query(optional(string)),
      /** Only those that ran on this host. */
      host: query(optional(string)),
      /** Only those that ended in this state. */
      lastTaskStatus: query(optional(TaskState)),
      /** Only those launched before this time, in epoch milliseconds. */
      startedBefore: query(optional(int64)),
      /** Only those launched after this time. */
      startedAfter: query(optional(int64)),
      /** Only those whose last update came before this time. */
      updatedBefore: query(optional(int64)),
      /** Only those whose last update came after this time. */
      updatedAfter: query(optional(int64)),
      /** Order by the last update; default: DESC. */
      orderDirection: query(optional(words('ASC', 'DESC'))),
    },
    PaginatedResponseOfTaskIdHistory,
    { path: 'request' },
  ),
  /** Lists the active tasks of one request, newest update first. */
  activeTasksOfRequest: get(
    {
      /** Id of the request. */
      requestId: path(string, 'tasks/active'),
    },
    list(TaskIdHistory),
    { path: 'request' },
  ),
  /** Lists the active tasks of one deploy, newest update first. */
  activeTasksOfDeploy: get(
    {
      /** Id of the request. */
      requestId: path(string, 'deploy'),
      /** Id of the deploy. */
      deployId: path(string, 'tasks/active'),
    },
    list(TaskIdHistory),
    { path: 'request' },
  ),
  /** Lists the ended tasks of one deploy, newest update first. */
  endedTasksOfDeploy: get(
    {
      /** Id of the request. */
      requestId: path(string, 'deploy'),
      /** Id of the deploy. */
      deployId: path(string, 'tasks/inactive'),
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
    },
    list(TaskIdHistory),
    { path: 'request' },
  ),
  /** Lists the ended tasks of one deploy, newest update first, and counts them. */
  endedTasksOfDeployPage: get(
    {
      /** Id of the request. */
      requestId: path(string, 'deploy'),
      /** Id of the deploy. */
      deployId: path(string, 'tasks/inactive/withmetadata'),
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
    },
    PaginatedResponseOfTaskIdHistory,
    { path: 'request' },
  ),
  /** Shows the newest task of a run, active or ended. */
  taskOfRun: get(
    {
      /** Id of the request. */
      requestId: path(string, 'run'),
      /** Id of the run, given when it was asked for or made up then. */
      runId: path(string),
    },
    TaskIdHistory,
    { path: 'request' },
  ),
};
