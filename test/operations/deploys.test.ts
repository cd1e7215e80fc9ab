import { describe, expect, test } from 'vitest';
import { gating } from './deploys/gating.js';
import { planning } from './deploys/planning.js';
import { rollingBack } from './deploys/rolling-back.js';
import { starting } from './deploys/starting.js';
import { steering } from './deploys/steering.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { Scene, sleeping } from './scene.js';

const operations = operationsOf(['Deploys'], { settings: { checkNewTasksEverySeconds: 1 } });
const scene = new Scene(operations);

// Each test has requests of its own.
describe.concurrent('starting deploys', () => {
  starting(scene);
});
describe.concurrent('steering deploys', () => {
  steering(scene);
});
describe.concurrent('gates', () => {
  gating(scene);
});
describe.concurrent('planning', () => {
  planning(scene);
});
describe.concurrent('rolling back', () => {
  rollingBack(scene);
});

describe('while an action is switched off', () => {
  test.each([
    ['DEPLOY', 'POST /api/deploys'],
    ['DEPLOY', 'POST /api/deploys/plan'],
    ['DEPLOY', 'POST /api/deploys/request/{requestId}/rollback'],
    ['DEPLOY', 'POST /api/deploys/deploy/{deployId}/request/{requestId}/approve'],
    ['CANCEL_DEPLOY', 'DELETE /api/deploys/deploy/{deployId}/request/{requestId}'],
    ['SCALE_REQUEST', 'POST /api/requests/request/{requestId}/scale/plan'],
  ] as const)('%s, %s is 409 with the text of who did it', async (action, operation) => {
    const switched = `/api/disasters/disabled-actions/{action}` as const;
    const params = { action, requestId: 'switched', deployId: 'v1' };
    await scene.request({ id: 'switched' });
    await operations.call(`POST ${switched}`, 204, { params, body: { message: 'moving house' } });
    try {
      const body = { deploy: sleeping('switched') };
      const refusal = await scene.refuses(operation, 409, {
        params,
        ...(operation.startsWith('POST') ? { body } : {}),
      });
      expect([refusal.code, refusal.message]).toEqual(['ACTION_DISABLED', expect.stringContaining('moving house')]);
    } finally {
      await operations.call(`DELETE ${switched}`, 204, { params });
    }
  });
});

everyOperationWasCalled(operations);
