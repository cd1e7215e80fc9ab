import { body, del, path, post, put, query, unit } from 'rest-contract/client';
import { RunNowRequest } from '../records/deploy.js';
import { ScalePlan } from '../records/plans.js';
import { Request } from '../records/request.js';
import {
  BounceRequest,
  DeleteRequestRequest,
  ExitCooldownRequest,
  PauseRequest,
  PriorityRequest,
  ScaleRequest,
  SkipHealthchecksRequest,
  UnpauseRequest,
  UpdateGroupsRequest,
} from '../records/request-actions.js';
import { PendingRequestParent, RequestParent } from '../records/request-state.js';
import { boolean, optional, string } from '../schema.js';

export const requestActions = {
  /** Creates a request, or replaces the stored one as a whole: members that are left out are cleared. */
  save: post(
    {
      body: body(Request),
    },
    RequestParent,
    { path: '' },
  ),
  /** Deletes a request: its tasks are killed, and when the last one is gone, so is the request. Its history stays. */
  remove: del(
    {
      /** Id of the request. */
      requestId: path(string),
      body: body(optional(DeleteRequestRequest)),
    },
    Request,
    { path: 'request' },
  ),
  /** Replaces the groups that may see or change a request. */
  updateGroups: post(
    {
      /** Id of the request. */
      requestId: path(string, 'groups'),
      body: body(UpdateGroupsRequest),
    },
    RequestParent,
    { path: 'request' },
  ),
  /**
   * 200 if the caller may give the request these groups; else 401. Nothing is changed, and the request need not exist
   * yet.
   */
  checkGroups: post(
    {
      /** Id of the request. */
      requestId: path(string, 'groups/auth-check'),
      body: body(UpdateGroupsRequest),
    },
    unit,
    { path: 'request' },
  ),
  /** Replaces all tasks of a SERVICE or WORKER by new ones. Answers the state as it was before. */
  bounce: post(
    {
      /** Id of the request. */
      requestId: path(string, 'bounce'),
      body: body(optional(BounceRequest)),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Takes the time limit off a bounce; the bounce goes on. */
  makeBouncePermanent: del(
    {
      /** Id of the request. */
      requestId: path(string, 'bounce'),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Stops new tasks, and kills the running ones unless told otherwise, until the request is unpaused. */
  pause: post(
    {
      /** Id of the request. */
      requestId: path(string, 'pause'),
      body: body(optional(PauseRequest)),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Makes a pause that would end by itself permanent. */
  makePausePermanent: del(
    {
      /** Id of the request. */
      requestId: path(string, 'pause'),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Lets a paused request have tasks again. */
  unpause: post(
    {
      /** Id of the request. */
      requestId: path(string, 'unpause'),
      body: body(optional(UnpauseRequest)),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Ends a cooldown before its time. Answers the state as it was before. */
  exitCooldown: post(
    {
      /** Id of the request. */
      requestId: path(string, 'exit-cooldown'),
      body: body(optional(ExitCooldownRequest)),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Changes the number of instances, for good or for a while. */
  scale: put(
    {
      /** Id of the request. */
      requestId: path(string, 'scale'),
      /** Ending many tasks at once is meant. An addition of version 1.5 of this API. */
      largeScaleDownAcknowledged: query(optional(boolean)),
      /**
       * Of the plan that this carries out: refused when the request or its deploys have changed since. An addition of
       * Muster.
       */
      checkIndex: query(optional(string)),
      body: body(ScaleRequest),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Makes a number of instances that would be taken back permanent. */
  makeScalePermanent: del(
    {
      /** Id of the request. */
      requestId: path(string, 'scale'),
    },
    RequestParent,
    { path: 'request' },
  ),
  /**
   * Changes how important the tasks are when not all can run, for good or for a while. An addition of version 1.5 of
   * this API.
   */
  setPriority: put(
    {
      /** Id of the request. */
      requestId: path(string, 'priority'),
      body: body(PriorityRequest),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Makes a priority that would be taken back permanent. An addition of version 1.5 of this API. */
  makePriorityPermanent: del(
    {
      /** Id of the request. */
      requestId: path(string, 'priority'),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Turns health checks off (tasks count as healthy) or on again, for good or for a while. */
  skipHealthchecks: put(
    {
      /** Id of the request. */
      requestId: path(string, 'skip-healthchecks'),
      body: body(optional(SkipHealthchecksRequest)),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Makes a skip of health checks that would be taken back permanent. */
  makeSkipHealthchecksPermanent: del(
    {
      /** Id of the request. */
      requestId: path(string, 'skip-healthchecks'),
    },
    RequestParent,
    { path: 'request' },
  ),
  /**
   * Older path of skip-healthchecks.
   * @deprecated
   */
  skipHealthchecksByOldPath: put(
    {
      /** Id of the request. */
      requestId: path(string, 'skipHealthchecks'),
      body: body(optional(SkipHealthchecksRequest)),
    },
    RequestParent,
    { path: 'request' },
  ),
  /**
   * Older path of skip-healthchecks.
   * @deprecated
   */
  makeSkipHealthchecksPermanentByOldPath: del(
    {
      /** Id of the request. */
      requestId: path(string, 'skipHealthchecks'),
    },
    RequestParent,
    { path: 'request' },
  ),
  /** Runs a SCHEDULED request before its time, or an ON_DEMAND request once more. */
  run: post(
    {
      /** Id of the request. */
      requestId: path(string, 'run'),
      /** Answer only request, state and pendingRequest. */
      minimal: query(optional(boolean)),
      body: body(optional(RunNowRequest)),
    },
    PendingRequestParent,
    { path: 'request' },
  ),
  /**
   * Says which tasks another number of instances would start and stop, and whether they fit. Changes nothing. An
   * addition of Muster.
   */
  planScale: post(
    {
      /** Id of the request. */
      requestId: path(string, 'scale/plan'),
      /** Ending many tasks at once is meant. An addition of version 1.5 of this API. */
      largeScaleDownAcknowledged: query(optional(boolean)),
      body: body(ScaleRequest),
    },
    ScalePlan,
    { path: 'request' },
  ),
};
