import { contract, get, path, post, unit } from 'rest-contract/client';
import { SlavePlacement } from '../records/request.js';
import { Limits, PlacementOverride } from '../records/state.js';

/** Limits, and what holds for the placement of all requests. */
export const ConfigurationApi = contract('ConfigurationApi', {
  /** Shows limits that clients look at before they ask for something. An addition of version 1.5 of this API. */
  limits: get({}, Limits, { path: 'singularity-limits' }),
  /** Shows what holds for the placement of all requests. An addition of Muster. */
  placement: get({}, PlacementOverride, { path: 'placement' }),
  /** Lets rackSensitive of requests count again. An addition of version 1.5 of this API. */
  enableRackSensitivity: post({}, unit, { path: 'rack-sensitive/enable' }),
  /** Places tasks as if no request were rackSensitive. An addition of version 1.5 of this API. */
  disableRackSensitivity: post({}, unit, { path: 'rack-sensitive/disable' }),
  /**
   * Places tasks of all requests by this strategy, whatever they ask for. Tasks that run stay where they are. An
   * addition of version 1.5 of this API.
   */
  setStrategy: post(
    {
      /** The placement strategy. */
      strategy: path(SlavePlacement),
    },
    unit,
    { path: 'placement-strategy/override/set' },
  ),
  /** Places tasks by the strategy of their request again. An addition of version 1.5 of this API. */
  clearStrategy: post({}, unit, { path: 'placement-strategy/override/clear' }),
});
