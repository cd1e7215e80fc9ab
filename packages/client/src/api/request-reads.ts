import { get, path, query } from 'rest-contract/client';
import { RequestExplanation } from '../records/explanations.js';
import { RequestType } from '../records/request.js';
import { CrashLoopInfo } from '../records/request-groups.js';
import {
  PendingRequest,
  RequestBatch,
  RequestCleanup,
  RequestParent,
  RequestState,
  RequestWithState,
} from '../records/request-state.js';
import { TaskId } from '../records/task-ids.js';
import { boolean, int32, list, map, optional, string } from '../schema.js';

export const requestReads = {
  /** All requests, those first that were acted on last. */
  list: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
      /** Only requests that concern the caller. Without effect while authentication is off: then no caller is known. */
      filterRelevantForUser: query(optional(boolean)),
      /** Add expiring actions and task ids to each entry. */
      includeFullRequestData: query(optional(boolean)),
      /** At most so many entries. */
      limit: query(optional(int32)),
      /** Only requests of these types. May be repeated. */
      requestType: query(optional(list(RequestType))),
      /** Add to each SCHEDULED entry when it runs next. Needs a limit of at most 100. */
      nextRuns: query(optional(boolean)),
    },
    list(RequestParent),
    { path: '' },
  ),
  /** One request with its deploys, tasks and expiring actions. */
  get: get(
    {
      /** Id of the request. */
      requestId: path(string),
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Requests that run. */
  active: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
      /** Only requests that concern the caller. Without effect while authentication is off: then no caller is known. */
      filterRelevantForUser: query(optional(boolean)),
      /** Add expiring actions and task ids to each entry. */
      includeFullRequestData: query(optional(boolean)),
      /** At most so many entries. */
      limit: query(optional(int32)),
      /** Only requests of these types. May be repeated. */
      requestType: query(optional(list(RequestType))),
      /** Add to each SCHEDULED entry when it runs next. Needs a limit of at most 100. */
      nextRuns: query(optional(boolean)),
    },
    list(RequestParent),
    { path: 'active' },
  ),
  /** Requests that are paused. */
  paused: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
      /** Only requests that concern the caller. Without effect while authentication is off: then no caller is known. */
      filterRelevantForUser: query(optional(boolean)),
      /** Add expiring actions and task ids to each entry. */
      includeFullRequestData: query(optional(boolean)),
      /** At most so many entries. */
      limit: query(optional(int32)),
      /** Only requests of these types. May be repeated. */
      requestType: query(optional(list(RequestType))),
      /** Add to each SCHEDULED entry when it runs next. Needs a limit of at most 100. */
      nextRuns: query(optional(boolean)),
    },
    list(RequestParent),
    { path: 'paused' },
  ),
  /** Requests whose tasks fail so fast that new ones are delayed. */
  cooldown: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
      /** Only requests that concern the caller. Without effect while authentication is off: then no caller is known. */
      filterRelevantForUser: query(optional(boolean)),
      /** Add expiring actions and task ids to each entry. */
      includeFullRequestData: query(optional(boolean)),
      /** At most so many entries. */
      limit: query(optional(int32)),
      /** Only requests of these types. May be repeated. */
      requestType: query(optional(list(RequestType))),
      /** Add to each SCHEDULED entry when it runs next. Needs a limit of at most 100. */
      nextRuns: query(optional(boolean)),
    },
    list(RequestParent),
    { path: 'cooldown' },
  ),
  /** SCHEDULED requests whose schedule has no further time. */
  finished: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
      /** Only requests that concern the caller. Without effect while authentication is off: then no caller is known. */
      filterRelevantForUser: query(optional(boolean)),
      /** Add expiring actions and task ids to each entry. */
      includeFullRequestData: query(optional(boolean)),
      /** At most so many entries. */
      limit: query(optional(int32)),
      /** Only requests of these types. May be repeated. */
      requestType: query(optional(list(RequestType))),
      /** Add to each SCHEDULED entry when it runs next. Needs a limit of at most 100. */
      nextRuns: query(optional(boolean)),
    },
    list(RequestParent),
    { path: 'finished' },
  ),
  /** Ids of all requests, in their order. */
  ids: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
      /** Only ids that begin so, in capital or small letters. */
      requestIdLike: query(optional(string)),
      /** Only requests in these states. May be repeated. */
      state: query(optional(list(RequestState))),
    },
    list(string),
    { path: 'ids' },
  ),
  /** Ids of the requests that run, in their order. */
  activeIds: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(string),
    { path: 'ids/active' },
  ),
  /** Several requests at once. */
  batch: get(
    {
      /** Id of a request. May be repeated. */
      id: query(optional(list(string))),
    },
    RequestBatch,
    { path: 'batch' },
  ),
  /** Wishes that the scheduler has not looked at yet, oldest first. */
  queuedPending: get({}, list(PendingRequest), { path: 'queued/pending' }),
  /** Orders for whole requests that the cleaner has not carried out yet, oldest first. */
  queuedCleanup: get({}, list(RequestCleanup), { path: 'queued/cleanup' }),
  /** One request without its deploys and tasks. */
  simple: get(
    {
      /** Id of the request. */
      requestId: path(string, 'simple'),
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    RequestWithState,
    { path: 'request' },
  ),
  /** The task that carries out a run. */
  taskOfRun: get(
    {
      /** Id of the request. */
      requestId: path(string, 'run'),
      /** Id of the run, given when it was asked for or made up then. */
      runId: path(string),
    },
    TaskId,
    { path: 'request' },
  ),
  /** Crash loops of all requests that are in one or were not long ago, by request id. */
  crashLoops: get({}, map(list(CrashLoopInfo)), { path: 'crashloops' }),
  /** Crash loops of the active deploy of a request, newest first; those that are over have an end. */
  crashLoopsOf: get(
    {
      /** Id of the request. */
      requestId: path(string, 'crashloops'),
    },
    list(CrashLoopInfo),
    { path: 'request' },
  ),
  /** Ids of deleted requests whose service waits to be taken off the load balancer, in their order. */
  leavingLoadBalancer: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(string),
    { path: 'lbcleanup' },
  ),
  /**
   * Says of each waiting task of a request why it is not running, and what waits in the queue. An addition of Muster.
   */
  explain: get(
    {
      /** Id of the request. */
      requestId: path(string, 'explain'),
    },
    RequestExplanation,
    { path: 'request' },
  ),
};
