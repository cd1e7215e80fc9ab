import { expect, test } from 'vitest';
import { deployFailureReasons, deployStates } from '../model/enums.js';
import { makeTaskId } from '../task-id.js';
import { lookAtFirst } from './index.js';

const taskId = makeTaskId({ requestId: 'r', deployId: 'd', startedAt: 1, instanceNo: 1, host: 'h', rackId: 'r1' });

test.each(deployStates)('there is something to look at only after a failure: %s', (deployState) => {
  const place = lookAtFirst({ deployState, timestamp: 1, deployFailures: [] });
  expect(place !== undefined).toBe(['FAILED', 'OVERDUE', 'FAILED_INTERNAL_STATE'].includes(deployState));
});

test.each(deployFailureReasons)(
  'every reason of a failure leads somewhere, without a gap in the text: %s',
  (reason) => {
    const place = lookAtFirst({ deployState: 'FAILED', timestamp: 1, deployFailures: [{ reason, taskId }] });
    expect(place).toMatch(/^[a-z].{20}/i);
    expect(place).not.toContain('TASK');
  },
);
