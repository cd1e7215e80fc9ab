import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take minutes, the longest first: begun last, one of them would run alone while the other workers have nothing left.
 * A fresh clone remembers no times and would begin with the longest text, and these are short: their scenarios stand beside them.
 */
export const longest = [
  'test/crash-points/deploys.test.ts',
  'test/crash-points/bounces.test.ts',
  'test/crash-points/cleanups.test.ts',
  'test/laws/everything.test.ts',
  'test/laws/services.test.ts',
  'test/laws/jobs.test.ts',
  'test/laws/real.test.ts',
  'test/crash-points/jobs.test.ts',
  'test/simulation/day.test.ts',
  'test/setup/setup.test.ts',
  'test/e2e/failover.test.ts',
  'test/e2e/rollout.test.ts',
  'test/e2e/api-workers.test.ts',
  'test/import-from/command.test.ts',
  'test/clients/java-client.test.ts',
  'test/clients/go-client.test.ts',
  'test/history/old-history.test.ts',
  'test/e2e/crash-points.test.ts',
  'test/e2e/upgrade.test.ts',
  'test/load-balancer/outage.test.ts',
  'test/agent/crash-phases.test.ts',
];

/** Begins with the files that take longest, and goes on as vitest does. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longest.indexOf(relative(root, moduleId).replaceAll('\\', '/'));
      return found < 0 ? longest.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
