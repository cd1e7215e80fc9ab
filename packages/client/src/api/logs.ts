import { body, byteStream, contract, get, path, post, query } from 'rest-contract/client';
import { ObjstoreLog, ObjstoreSearchRequest, ObjstoreSearchResult } from '../records/files.js';
import { boolean, int32, int64, list, optional, string } from '../schema.js';

/** Logs of ended tasks in the object store. */
export const LogsApi = contract('LogsApi', {
  /** Lists the stored logs of a task, newest first. 404 without an object store. */
  ofTask: get(
    {
      /** Id of the task. */
      taskId: path(string),
      /** Only logs from this time on, in epoch milliseconds. */
      start: query(optional(int64)),
      /** Only logs until this time, in epoch milliseconds. */
      end: query(optional(int64)),
      /** Leave out startTime and endTime, which take a call to the store for each file. */
      excludeMetadata: query(optional(boolean)),
      /** Leave out the links: only files and metadata. */
      list: query(optional(boolean)),
    },
    list(ObjstoreLog),
    { path: 'task' },
  ),
  /** Lists the stored logs of a request, newest first. 404 without an object store. */
  ofRequest: get(
    {
      /** Id of the request. */
      requestId: path(string),
      /** Only logs from this time on, in epoch milliseconds. */
      start: query(optional(int64)),
      /** Only logs until this time, in epoch milliseconds. */
      end: query(optional(int64)),
      /** Leave out startTime and endTime, which take a call to the store for each file. */
      excludeMetadata: query(optional(boolean)),
      /** Leave out the links: only files and metadata. */
      list: query(optional(boolean)),
      /** At most so many of each bucket that is searched, the newest; absent: all. */
      maxPerPage: query(optional(int32)),
    },
    list(ObjstoreLog),
    { path: 'request' },
  ),
  /** Lists the stored logs of a deploy, newest first. 404 without an object store. */
  ofDeploy: get(
    {
      /** Id of the request. */
      requestId: path(string, 'deploy'),
      /** Id of the deploy. */
      deployId: path(string),
      /** Only logs from this time on, in epoch milliseconds. */
      start: query(optional(int64)),
      /** Only logs until this time, in epoch milliseconds. */
      end: query(optional(int64)),
      /** Leave out startTime and endTime, which take a call to the store for each file. */
      excludeMetadata: query(optional(boolean)),
      /** Leave out the links: only files and metadata. */
      list: query(optional(boolean)),
      /** At most so many of each bucket that is searched, the newest; absent: all. */
      maxPerPage: query(optional(int32)),
    },
    list(ObjstoreLog),
    { path: 'request' },
  ),
  /** Searches the stored logs of requests, deploys and tasks, page by page. 404 without an object store. */
  search: post(
    {
      body: body(ObjstoreSearchRequest),
    },
    ObjstoreSearchResult,
    { path: 'search' },
  ),
  /**
   * A stored log, by a link that a list or a search has answered; where logs are kept in the data directory. The link
   * says what it opens and until when, and works for all who have it. Ranges and conditions on the ETag are honoured.
   * An addition of Muster.
   */
  object: get(
    {
      /** The bucket that the object is in. */
      bucket: query(string),
      /** Its key in the bucket. */
      key: query(string),
      /** Until when the link is valid, in epoch seconds. */
      expires: query(int64),
      /** Save the object, and do not show it. */
      attachment: query(optional(boolean)),
      /** What the link is signed with: it holds for just these values. */
      signature: query(string),
    },
    byteStream('*/*'),
    { path: 'object' },
  ),
});
