import { body, contract, get, post, unit } from 'rest-contract/client';
import { list, string } from '../schema.js';

/** Who gets mail. */
export const NotificationsApi = contract('NotificationsApi', {
  /** Lists the addresses that no mail is sent to, in their order. */
  blacklist: get({}, list(string), { path: 'blacklist' }),
  /**
   * Lists the addresses that no mail is sent to: the later name of `blacklist`. An addition of version 1.5 of this
   * API.
   */
  blocklist: get({}, list(string), { path: 'blocklist' }),
  /** Lists the addresses that subscribed, in their order. An addition of version 1.5 of this API. */
  allowlist: get({}, list(string), { path: 'allowlist' }),
  /**
   * Notes that an address wants mail, and takes it off the blacklist, in capital or small letters. No effect if it
   * has subscribed.
   */
  subscribe: post(
    {
      body: body(string),
    },
    unit,
    { path: 'subscribe' },
  ),
  /** Puts an address on the blacklist: no mail is sent to it any more. No effect if it is on it. */
  unsubscribe: post(
    {
      body: body(string),
    },
    unit,
    { path: 'unsubscribe' },
  ),
});
