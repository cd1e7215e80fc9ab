import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take minutes, the longest first: begun last, one of them would run alone while the other workers have nothing left.
 * A fresh clone remembers no times and would begin with the longest text, and these are short: their scenarios stand beside them.
 */
export const longest = [
  'test/e2e/image.test.ts',
  'test/e2e/dashboard.test.ts',
  'test/laws/real.test.ts',
  'test/e2e/api-workers.test.ts',
  'test/setup/setup.test.ts',
  'test/e2e/failover.test.ts',
  'test/chaos/chaos.test.ts',
  'test/agent/upload-faults.test.ts',
  'test/agent/rotation.test.ts',
  'test/agent/containers.test.ts',
  'test/security/containers.test.ts',
  'test/e2e/cli.test.ts',
  'packages/migrate/test/import-from-command.test.ts',
  'test/e2e/stop.test.ts',
  'test/e2e/crash-points.test.ts',
  'test/e2e/backup-command.test.ts',
  'test/agent/restart.test.ts',
  'test/agent/crash-phases.test.ts',
  'test/e2e/clocks.test.ts',
  'test/operations/webhook-bodies.test.ts',
  'test/faults/leadership.test.ts',
  'test/e2e/backup.test.ts',
  'test/laws/everything.test.ts',
  'test/crash-points/deploys.test.ts',
  'test/crash-points/bounces.test.ts',
  'test/crash-points/cleanups.test.ts',
  'test/crash-points/jobs.test.ts',
  'test/laws/services.test.ts',
  'test/laws/jobs.test.ts',
  'test/simulation/day.test.ts',
  'test/e2e/upgrade.test.ts',
  'test/e2e/rollout.test.ts',
  'test/clients/java-client.test.ts',
  'test/clients/go-client.test.ts',
  'test/clients/python-log-tool.test.ts',
  'test/history/old-history.test.ts',
  'test/load-balancer/outage.test.ts',
  'src/scheduler/scheduler.test.ts',
  'src/platform/leadership/pg-leadership.test.ts',
  'test/cluster/local-driver.test.ts',
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
