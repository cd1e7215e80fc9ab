import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { failWith } from './say.mjs';
import { root, setUp } from './setup.mjs';

// In this very process, so that its id is the one that is printed and that signals reach.
await setUp()
  .then(() => {
    process.argv.splice(2, 0, 'start');
    return import(pathToFileURL(join(root, 'bin', 'muster.mjs')).href);
  })
  .catch(failWith);
