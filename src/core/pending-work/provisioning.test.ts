import { expect, test } from 'vitest';
import { judgeProvisioning, type ProvisionedRequest } from './index.js';

const web: ProvisionedRequest = {
  id: 'web',
  requestType: 'SERVICE',
  instances: 2,
  hasDeploy: true,
  active: 2,
  cleaning: 0,
  waiting: 0,
  queued: false,
};

test.each<{ name: string; request: Partial<ProvisionedRequest>; judged: string }>([
  { name: 'as many as wanted', request: {}, judged: 'RIGHT' },
  { name: 'one too many', request: { active: 3 }, judged: 'OVER' },
  { name: 'one leaves', request: { active: 3, cleaning: 1 }, judged: 'RIGHT' },
  { name: 'one missing', request: { active: 1 }, judged: 'UNDER' },
  { name: 'one missing, but on its way', request: { active: 1, waiting: 1 }, judged: 'RIGHT' },
  { name: 'one missing, but the scheduler will look', request: { active: 1, queued: true }, judged: 'RIGHT' },
  { name: 'nothing to run yet', request: { active: 0, hasDeploy: false }, judged: 'RIGHT' },
  { name: 'one instance unless said otherwise', request: { instances: undefined }, judged: 'OVER' },
  {
    name: 'a schedule that waits for its time',
    request: { requestType: 'SCHEDULED', active: 0, waiting: 1 },
    judged: 'RIGHT',
  },
  {
    name: 'a schedule whose run has to go waits for nothing else',
    request: { requestType: 'SCHEDULED', active: 1, cleaning: 1 },
    judged: 'RIGHT',
  },
])('$name: $judged', ({ request, judged }) => expect(judgeProvisioning({ ...web, ...request })).toBe(judged));
