import { contract, del, get, path, post, unit } from 'rest-contract/client';
import { boolean, list, string } from '../schema.js';

/** Requests whose tasks are not moved off overloaded slaves. */
export const ShuffleApi = contract('ShuffleApi', {
  /** Lists the ids of the requests whose tasks are not moved off overloaded slaves. */
  list: get({}, list(string), { path: 'blacklist' }),
  /** Tells whether the tasks of a request are exempt from being moved. */
  has: get(
    {
      /** Id of the request. */
      requestId: path(string),
    },
    boolean,
    { path: 'blacklist' },
  ),
  /** Exempts the tasks of a request from being moved. No effect if they are exempt. */
  add: post(
    {
      /** Id of the request. */
      requestId: path(string),
    },
    unit,
    { path: 'blacklist' },
  ),
  /** Lets the tasks of a request be moved again. No effect if they may be; 409 if the settings exempt them. */
  remove: del(
    {
      /** Id of the request. */
      requestId: path(string),
    },
    unit,
    { path: 'blacklist' },
  ),
});
