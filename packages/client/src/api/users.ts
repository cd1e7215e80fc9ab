import { body, contract, del, get, post, unit } from 'rest-contract/client';
import { UserSettings } from '../records/auth.js';

/** What users have chosen. */
export const UsersApi = contract('UsersApi', {
  /** Shows what the caller has chosen. All who do not say who they are share one choice. */
  settings: get({}, UserSettings, { path: 'settings' }),
  /** Replaces what the caller has chosen. */
  replaceSettings: post(
    {
      body: body(UserSettings),
    },
    unit,
    { path: 'settings' },
  ),
  /** Adds requests to those the caller cares for. */
  star: post(
    {
      body: body(UserSettings),
    },
    unit,
    { path: 'settings/starred-requests' },
  ),
  /** Takes requests off those the caller cares for. */
  unstar: del(
    {
      body: body(UserSettings),
    },
    unit,
    { path: 'settings/starred-requests' },
  ),
});
