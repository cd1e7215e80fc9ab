import { body, contract, del, get, path, post, query } from 'rest-contract/client';
import {
  DeployRequest,
  PendingDeploy,
  RollbackRequest,
  UpdatePendingDeployRequest,
} from '../records/deploy-progress.js';
import { Rollback } from '../records/state.js';
import { DeployPlan } from '../records/plans.js';
import { RequestParent } from '../records/request-state.js';
import { boolean, list, optional, string } from '../schema.js';

/** Deploys: new versions of requests. */
export const DeploysApi = contract('DeploysApi', {
  /** Start a deploy. The old one serves until the new one is healthy. */
  start: post(
    {
      /**
       * The deploy may end more tasks at once than the service allows without being told so. An addition of version
       * 1.5 of this API.
       */
      largeScaleDownAcknowledged: query(optional(boolean)),
      /**
       * Of the plan that this carries out: refused when the request or its deploys have changed since. An addition of
       * Muster.
       */
      checkIndex: query(optional(string)),
      body: body(DeployRequest),
    },
    RequestParent,
    { path: '' },
  ),
  /** Cancel the deploy in progress. Best effort: it may still succeed or fail by itself. */
  cancel: del(
    {
      /** Id of the deploy. */
      deployId: path(string, 'request'),
      /** Id of the request. */
      requestId: path(string),
    },
    RequestParent,
    { path: 'deploy' },
  ),
  /** Change how many tasks of the deploy in progress should run now. */
  update: post(
    {
      body: body(UpdatePendingDeployRequest),
    },
    RequestParent,
    { path: 'update' },
  ),
  /** All deploys in progress. */
  pending: get({}, list(PendingDeploy), { path: 'pending' }),
  /** Deploy an earlier version again, as a new deploy that serves when it is healthy. An addition of Muster. */
  rollBack: post(
    {
      /** Id of the request. */
      requestId: path(string, 'rollback'),
      /**
       * The deploy may end more tasks at once than the service allows without being told so. An addition of version
       * 1.5 of this API.
       */
      largeScaleDownAcknowledged: query(optional(boolean)),
      /**
       * Of the plan that this carries out: refused when the request or its deploys have changed since. An addition of
       * Muster.
       */
      checkIndex: query(optional(string)),
      body: body(optional(RollbackRequest)),
    },
    Rollback,
    { path: 'request' },
  ),
  /**
   * Says what a deploy would change, which tasks it would start and stop, and whether they fit. Changes nothing. An
   * addition of Muster.
   */
  plan: post(
    {
      /**
       * The deploy may end more tasks at once than the service allows without being told so. An addition of version
       * 1.5 of this API.
       */
      largeScaleDownAcknowledged: query(optional(boolean)),
      body: body(DeployRequest),
    },
    DeployPlan,
    { path: 'plan' },
  ),
});
