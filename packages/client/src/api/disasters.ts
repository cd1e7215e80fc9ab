import { body, contract, del, get, path, post, unit } from 'rest-contract/client';
import {
  ActionType,
  DisabledAction,
  DisabledActionRequest,
  DisasterType,
  DisastersData,
} from '../records/disasters.js';
import { list, optional } from '../schema.js';

/** Disasters, and actions that are switched off. */
export const DisastersApi = contract('DisastersApi', {
  /** Lists the disasters there are now. */
  active: get({}, list(DisasterType), { path: 'active' }),
  /** Declares a disaster, and switches off the actions configured for it. */
  activate: post(
    {
      /** The kind of disaster. */
      type: path(DisasterType),
    },
    unit,
    { path: 'active' },
  ),
  /** Declares a disaster over. With the last one, actions that wait for that come back. */
  deactivate: del(
    {
      /** The kind of disaster. */
      type: path(DisasterType),
    },
    unit,
    { path: 'active' },
  ),
  /** Lists the actions that are switched off. */
  disabledActions: get({}, list(DisabledAction), { path: 'disabled-actions' }),
  /** Switches an action off until it is enabled again. */
  disableAction: post(
    {
      /** The action that is switched off or on. */
      action: path(ActionType),
      body: body(optional(DisabledActionRequest)),
    },
    unit,
    { path: 'disabled-actions' },
  ),
  /** Switches an action on again. */
  enableAction: del(
    {
      /** The action that is switched off or on. */
      action: path(ActionType),
    },
    unit,
    { path: 'disabled-actions' },
  ),
  /** Forbids the detection of disasters to switch actions off. */
  disableAutomatedActions: post({}, unit, { path: 'disable' }),
  /** Lets the detection of disasters switch actions off. */
  enableAutomatedActions: post({}, unit, { path: 'enable' }),
  /** Shows the figures that disasters are seen in, and which there are now. */
  stats: get({}, DisastersData, { path: 'stats' }),
  /**
   * Makes the instance that is asked give its leadership up in favour of another. 409 names the leader when it is not
   * this one.
   */
  failOver: post({}, unit, { path: 'failover' }),
});
