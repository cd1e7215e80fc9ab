import { contract, get, path, text } from 'rest-contract/client';
import { string } from '../schema.js';

/** The page for people. */
export const PagesApi = contract('PagesApi', {
  /** The page for people, built from IndexView. Paths below it answer the same. */
  show: get(
    {
      /** As the setting ui.path says. */
      uiPath: path(string),
    },
    text('text/html'),
    { path: '' },
  ),
});
