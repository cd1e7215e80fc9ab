import { body, contract, del, get, post, unit } from 'rest-contract/client';
import { PriorityFreeze, PriorityFreezeParent } from '../records/disasters.js';

/** Freezes: tasks below a priority are not started. */
export const PriorityApi = contract('PriorityApi', {
  /** Shows the priority freeze in force. */
  get: get({}, PriorityFreezeParent, { path: 'freeze' }),
  /** Stops the start of tasks below a priority. Takes the place of a freeze in force. */
  freeze: post(
    {
      body: body(PriorityFreeze),
    },
    PriorityFreezeParent,
    { path: 'freeze' },
  ),
  /** Ends the priority freeze. Tasks that it has not killed yet stay. */
  end: del({}, unit, { path: 'freeze' }),
});
