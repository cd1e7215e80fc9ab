import { body, contract, del, get, path, post, query, unit } from 'rest-contract/client';
import { RequestGroup } from '../records/request-groups.js';
import { boolean, list, optional, string } from '../schema.js';

/** Requests that belong together. */
export const GroupsApi = contract('GroupsApi', {
  /** Lists all groups in the order of their ids. */
  list: get(
    {
      /** Accepted for older clients. Answers are always current. */
      useWebCache: query(optional(boolean)),
    },
    list(RequestGroup),
    { path: '' },
  ),
  /** Creates a group, or replaces the stored one as a whole. */
  save: post(
    {
      body: body(RequestGroup),
    },
    RequestGroup,
    { path: '' },
  ),
  /** One group. */
  get: get(
    {
      /** Id of the group. */
      requestGroupId: path(string),
    },
    RequestGroup,
    { path: 'group' },
  ),
  /** Deletes a group; its requests stay. No effect if there is none. */
  remove: del(
    {
      /** Id of the group. */
      requestGroupId: path(string),
    },
    unit,
    { path: 'group' },
  ),
});
