import { body, contract, del, get, post, query, unit } from 'rest-contract/client';
import { User } from '../records/auth.js';
import { list, optional, string } from '../schema.js';

/** Hosts whose machines are decommissioned as soon as they appear. */
export const InactiveApi = contract('InactiveApi', {
  /** Lists the hosts that are marked inactive. */
  list: get({}, list(string), { path: '' }),
  /** Marks a host inactive: a slave that appears on it, or comes back, is decommissioned at once. */
  mark: post(
    {
      /** Name of the host, as slaves show it. */
      host: query(string),
    },
    unit,
    { path: '' },
  ),
  /** Takes a host off the list. A decommission that has begun goes on. */
  unmark: del(
    {
      /** Name of the host, as slaves show it. */
      host: query(string),
    },
    unit,
    { path: '' },
  ),
  /** Takes all hosts off the list. */
  unmarkAll: del(
    {
      body: body(optional(User)),
    },
    unit,
    { path: 'all' },
  ),
});
