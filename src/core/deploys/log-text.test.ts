import { expect, test } from 'vitest';
import type { DeployFailure, DeployResult } from '../model/deploy.js';
import { deployBeginText, deployEndText } from './log-text.js';

const marker = { requestId: 'web', deployId: 'v2', timestamp: 1 };
const failure = (message: string): DeployFailure => ({ reason: 'TASK_FAILED_ON_STARTUP', message });
const ended = (deployState: DeployResult['deployState'], result: Partial<DeployResult> = {}) =>
  deployEndText(marker, { deployState, timestamp: 1, deployFailures: [], ...result });

test('a deploy has begun, for whom and why', () => {
  const deploy = { requestId: 'web', id: 'v2' };
  expect(deployBeginText({ deploy, message: 'green' }, 'ann')).toBe(
    "Deploy 'v2' of request 'web' has begun, asked for by ann: green",
  );
});

test('how one ended, with what failed', () => {
  expect(ended('SUCCEEDED')).toBe("Deploy 'v2' of request 'web' ended as SUCCEEDED");
  expect(ended('FAILED', { message: 'Too bad', deployFailures: [failure('Exit code 1')] })).toBe(
    "Deploy 'v2' of request 'web' ended as FAILED: Too bad (TASK_FAILED_ON_STARTUP: Exit code 1)",
  );
  expect(ended('FAILED', { deployFailures: Array.from({ length: 9 }, () => failure('x')) })).toMatch(/; 6 more\)$/);
});
