import type { Deploy } from '../../../src/core/model/deploy.js';
import { groupBy } from '../../../src/core/group-by.js';
import type { Sight } from './world.js';

/** Deploys as a Sight tells of them. */
export const strategies = (
  deploys: readonly Pick<Deploy, 'requestId' | 'id' | 'deployStrategy'>[],
): Sight['oldFirst'] =>
  new Map(
    [...groupBy(deploys, ({ requestId }) => requestId)].map(([requestId, own]) => [
      requestId,
      new Map(own.map(({ id, deployStrategy }) => [id, deployStrategy === 'OLD_FIRST'])),
    ]),
  );
