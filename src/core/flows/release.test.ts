import { expect, test } from 'vitest';
import { flowRunState, releasable, type ReleaseFacts } from './index.js';

const facts: ReleaseFacts = {
  requestType: 'ON_DEMAND',
  state: 'ACTIVE',
  activeDeployId: 'd1',
  waiting: 3,
  active: 7,
  mostWaiting: 10,
};

test.each<[string, Partial<ReleaseFacts>, number]>([
  ['with room', {}, 7],
  ['in cooldown', { state: 'SYSTEM_COOLDOWN' }, 7],
  ['with a full queue', { waiting: 12 }, 0],
  ['that is paused', { state: 'PAUSED' }, 0],
  ['that is being deleted', { state: 'DELETING' }, 0],
  ['without a deploy', { activeDeployId: undefined }, 0],
  ['with a schedule, that is idle', { requestType: 'SCHEDULED', waiting: 0, active: 0 }, 1],
  ['with a schedule, that runs', { requestType: 'SCHEDULED', waiting: 0 }, 0],
  ['with a schedule, of which a run waits', { requestType: 'SCHEDULED', active: 0 }, 0],
])('a request %s takes %s', (_name, own, count) => expect(releasable({ ...facts, ...own })).toBe(count));

test.each([
  [{}, 'WAITING'],
  [{ queuedAt: 1 }, 'ACTIVE'],
  [{ queuedAt: 1, state: 'TASK_UNREACHABLE' }, 'ACTIVE'],
  [{ queuedAt: 1, endedAt: 2, state: 'TASK_FINISHED' }, 'SUCCESS'],
  [{ queuedAt: 1, endedAt: 2, state: 'TASK_LOST' }, 'FAILURE'],
  [{ endedAt: 2 }, 'DROPPED'],
] as const)('a run %j is %s', (run, state) => expect(flowRunState(run)).toBe(state));
