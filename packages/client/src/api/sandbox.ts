import { contract, get, path, query } from 'rest-contract/client';
import { ClusterFileChunkObject, Sandbox } from '../records/files.js';
import { int64, optional, string } from '../schema.js';

/** Files of tasks. */
export const SandboxApi = contract('SandboxApi', {
  /** Lists a folder of a task, running or ended. */
  browse: get(
    {
      /** Id of the task. */
      taskId: path(string, 'browse'),
      /** Path of the folder in the sandbox; clients that leave it out get the sandbox itself. */
      path: query(string),
    },
    Sandbox,
    { path: '' },
  ),
  /**
   * Reads part of a file of a task. With an offset of -1 it answers how long the file is, which is where a tail begins.
   */
  read: get(
    {
      /** Id of the task. */
      taskId: path(string, 'read'),
      /** Path of the file in the sandbox. */
      path: query(string),
      /** Keep only lines that match this regular expression. */
      grep: query(optional(string)),
      /** Position of the first byte; absent or -1: answer the length of the file only. */
      offset: query(optional(int64)),
      /** How many bytes, at most 65536; absent or -1: to the end of the file; 0: answer its length only. */
      length: query(optional(int64)),
    },
    ClusterFileChunkObject,
    { path: '' },
  ),
});
