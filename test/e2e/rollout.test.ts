import { expect, test } from 'vitest';
import { failedCalls } from '../bench/rollout/load-tool.js';
import { playRollout } from '../bench/rollout/record.js';
import { phases } from '../bench/rollout/phases.js';
import { Nginx } from '../support/load-balancer/nginx.js';

test.skipIf(!Nginx.isInstalled())(
  'behind a real proxy no call fails while a service is deployed, rolled back, bounced, scaled, autoscaled and killed',
  { timeout: 420_000 },
  async () => {
    const lines: string[] = [];
    const { phases: played, load } = await playRollout(100, (line) => lines.push(line));
    expect(played).toHaveLength(phases.length);
    expect(failedCalls(load), lines.join('\n')).toBe(0);
    expect(load.answered).toBeGreaterThan(500);
  },
);
