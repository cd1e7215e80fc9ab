import { expect, test } from 'vitest';
import { failedCalls } from '../bench/rollout/load-tool.js';
import { playRollout } from '../bench/rollout/record.js';
import { phases } from '../bench/rollout/phases.js';
import { isStageInstalled } from '../bench/rollout/stage.js';

test.skipIf(!isStageInstalled())(
  'behind real proxies no call fails while services are deployed, gated, rolled back, bounced, found sick, scaled, autoscaled and killed',
  { timeout: 600_000 },
  async () => {
    const lines: string[] = [];
    const { services, oldFirst } = await playRollout(100, (line) => lines.push(line));
    expect(services.map(({ proxy }) => proxy)).toEqual(['nginx', 'HAProxy']);
    for (const { phases: played, load } of services) {
      expect(played).toHaveLength(phases.length);
      expect(failedCalls(load), lines.join('\n')).toBe(0);
      expect(load.answered).toBeGreaterThan(500);
    }
    expect(oldFirst, lines.join('\n')).not.toEqual([]);
    for (const one of oldFirst) expect(one, lines.join('\n')).toMatchObject({ keepsPromise: true });
  },
);
