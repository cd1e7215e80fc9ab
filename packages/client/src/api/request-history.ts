import { get, path, post, query, unit } from 'rest-contract/client';
import {
  DeployHistory,
  PaginatedResponseOfDeployHistory,
  PaginatedResponseOfRequestHistory,
  RequestHistory,
} from '../records/history.js';
import { boolean, int32, int64, list, optional, string, words } from '../schema.js';

export const requestHistory = {
  /** Shows one deploy, in progress or past. */
  deploy: get(
    {
      /** Id of the request. */
      requestId: path(string, 'deploy'),
      /** Id of the deploy. */
      deployId: path(string),
    },
    DeployHistory,
    { path: 'request' },
  ),
  /** Lists the deploys of a request, newest first. */
  deploys: get(
    {
      /** Id of the request. */
      requestId: path(string, 'deploys'),
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
    list(DeployHistory),
    { path: 'request' },
  ),
  /** Lists the deploys of a request, newest first, and counts them. */
  deploysPage: get(
    {
      /** Id of the request. */
      requestId: path(string, 'deploys/withmetadata'),
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
    PaginatedResponseOfDeployHistory,
    { path: 'request' },
  ),
  /** Lists the changes of a request, newest first unless asked otherwise. */
  changes: get(
    {
      /** Id of the request. */
      requestId: path(string, 'requests'),
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
      /** Only those made before this time, in epoch milliseconds. An addition of version 1.5 of this API. */
      createdBefore: query(optional(int64)),
      /** Only those made after this time. An addition of version 1.5 of this API. */
      createdAfter: query(optional(int64)),
      /** Order by the time of the change; default: DESC. An addition of version 1.5 of this API. */
      orderDirection: query(optional(words('ASC', 'DESC'))),
    },
    list(RequestHistory),
    { path: 'request' },
  ),
  /** Lists the changes of a request, newest first unless asked otherwise, and counts them. */
  changesPage: get(
    {
      /** Id of the request. */
      requestId: path(string, 'requests/withmetadata'),
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
      /** Only those made before this time, in epoch milliseconds. An addition of version 1.5 of this API. */
      createdBefore: query(optional(int64)),
      /** Only those made after this time. An addition of version 1.5 of this API. */
      createdAfter: query(optional(int64)),
      /** Order by the time of the change; default: DESC. An addition of version 1.5 of this API. */
      orderDirection: query(optional(words('ASC', 'DESC'))),
    },
    PaginatedResponseOfRequestHistory,
    { path: 'request' },
  ),
  /** Lists the ids of all requests there ever were that begin so. */
  searchRequestIds: get(
    {
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
      /** How their ids begin. */
      requestIdLike: query(string),
      /** Accepted for older clients; answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(string),
    { path: 'requests/search' },
  ),
  /** Lists the different arguments with which the newest ended tasks of a request were run. */
  commandLineArgs: get(
    {
      /** Id of the request. */
      requestId: path(string, 'command-line-args'),
      /** How many of the newest ended tasks to look at; default 5. */
      count: query(optional(int32)),
      /**
       * Only what has moved to the history. Requests and deploys are in it at once, ended tasks usually within a
       * second.
       */
      skipZk: query(optional(boolean)),
    },
    list(list(string)),
    { path: 'request' },
  ),
  /**
   * Starts to turn the history of an older installation into JSON, in the background. Answers at once, and changes
   * nothing while a run is under way.
   */
  backfill: post(
    {
      /** Rows per transaction, at most 1000; default 20. */
      batchSize: query(optional(int32)),
    },
    unit,
    { path: 'sql-backfill' },
  ),
};
