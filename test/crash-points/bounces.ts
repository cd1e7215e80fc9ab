import { builtInCaller as caller } from '../../src/platform/http/caller.js';
import { Bounces } from '../../src/modules/requests/actions/bounces.service.js';
import type { BounceRequest } from '../../src/core/model/request.js';
import { bounceIsOver, service, version } from './plain.js';
import type { Scenario } from './scenario.js';
import type { Stage } from './stage.js';

const bounce = (stage: Stage, request: BounceRequest): Promise<void> =>
  stage.order((world) => world.get(Bounces).bounce('svc', request, caller));

export const bounces: Scenario[] = [
  {
    name: 'a bounce',
    given: (stage) => stage.deployed(service({ instances: 2 }), version('d1')),
    story: async (stage) => {
      await bounce(stage, {});
      await bounceIsOver(stage);
    },
    leaves: ['svc d1 1', 'svc d1 2'],
  },
  {
    name: 'an incremental bounce',
    given: (stage) => stage.deployed(service({ instances: 2 }), version('d1')),
    story: async (stage) => {
      await bounce(stage, { incremental: true });
      await bounceIsOver(stage);
    },
    leaves: ['svc d1 1', 'svc d1 2'],
  },
  {
    name: 'a bounce that ends old tasks first',
    given: (stage) => stage.deployed(service({ instances: 2 }), version('d1', { deployStrategy: 'OLD_FIRST' })),
    story: async (stage) => {
      await bounce(stage, {});
      await bounceIsOver(stage);
    },
    leaves: ['svc d1 1', 'svc d1 2'],
  },
  {
    name: 'a bounce that lapses because its new tasks never run',
    given: async (stage) => {
      await stage.deployed(service({ instances: 2 }), version('d1'));
      stage.cluster.onLaunch(() => ({ startAfter: 3_600_000 }));
    },
    story: async (stage) => {
      await bounce(stage, { durationMillis: 60_000 });
      await bounceIsOver(stage);
    },
    leaves: ['svc d1 1', 'svc d1 2'],
  },
];
