import { body, byteStream, del, get, path, post, query, unit } from 'rest-contract/client';
import { ShellCommand } from '../records/request-actions.js';
import {
  KillTaskRequest,
  TaskCleanup,
  TaskMetadataRequest,
  TaskShellCommandHistory,
  TaskShellCommandRequest,
  TaskShellCommandUpdate,
} from '../records/task-actions.js';
import { ClusterTaskStatisticsObject, Task } from '../records/tasks.js';
import { int64, list, optional, string } from '../schema.js';

export const taskActions = {
  /** Shows one active task. */
  get: get(
    {
      /** Id of the task. */
      taskId: path(string),
    },
    Task,
    { path: 'task' },
  ),
  /** Kills an active task. Answers the cleanup that was ordered; one ordered before is replaced only by override. */
  kill: del(
    {
      /** Id of the task. */
      taskId: path(string),
      body: body(optional(KillTaskRequest)),
    },
    TaskCleanup,
    { path: 'task' },
  ),
  /** Shows why an active task has to go. */
  cleanup: get(
    {
      /** Id of the task. */
      taskId: path(string, 'cleanup'),
    },
    TaskCleanup,
    { path: 'task' },
  ),
  /** Shows what an active task uses right now. */
  statistics: get(
    {
      /** Id of the task. */
      taskId: path(string, 'statistics'),
    },
    ClusterTaskStatisticsObject,
    { path: 'task' },
  ),
  /** Compares what is known of an active task with what its machine says. */
  reconcile: post(
    {
      /** Id of the task. */
      taskId: path(string),
    },
    unit,
    { path: 'reconcile' },
  ),
  /** Downloads a file of a task. Ranges and conditions on the ETag are honoured. */
  download: get(
    {
      /** Name of the slave's machine. */
      slaveHostname: query(string),
      /** Absolute path of the file, in the sandbox of a task. */
      path: query(string),
    },
    byteStream(),
    { path: 'download' },
  ),
  /** Shows a file of a task in the browser, in the type that its name suggests. */
  open: get(
    {
      /** Name of the slave's machine. */
      slaveHostname: query(string),
      /** Absolute path of the file, in the sandbox of a task. */
      path: query(string),
    },
    byteStream('*/*'),
    { path: 'open' },
  ),
  /** Attaches a note to a task, to be shown with its history. */
  addMetadata: post(
    {
      /** Id of the task. */
      taskId: path(string, 'metadata'),
      body: body(TaskMetadataRequest),
    },
    unit,
    { path: 'task' },
  ),
  /** Lists the shell commands that have not been sent to their machines yet. */
  queuedShellCommands: get({}, list(TaskShellCommandRequest), { path: 'commands/queued' }),
  /** Lists the shell commands of a task that were sent to its machine, and what became of them. */
  shellCommands: get(
    {
      /** Id of the task. */
      taskId: path(string, 'command'),
    },
    list(TaskShellCommandHistory),
    { path: 'task' },
  ),
  /** Runs a configured shell command in an active task. */
  runShellCommand: post(
    {
      /** Id of the task. */
      taskId: path(string, 'command'),
      body: body(ShellCommand),
    },
    TaskShellCommandRequest,
    { path: 'task' },
  ),
  /** Lists what became of one shell command of a task, which its name and time name. */
  shellCommandUpdates: get(
    {
      /** Id of the task. */
      taskId: path(string, 'command'),
      /** Name of the shell command, with or without its slashes. */
      commandName: path(string),
      /** When it was queued, in epoch milliseconds. */
      commandTimestamp: path(int64),
    },
    list(TaskShellCommandUpdate),
    { path: 'task' },
  ),
};
