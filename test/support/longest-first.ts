import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take minutes, the longest first: begun last, one of them would run alone while the other workers have nothing left.
 * A fresh clone remembers no times and would begin with the longest text, and these are short: their scenarios stand beside them.
 */
export const longest = [
  'test/e2e/image.test.ts',
  'test/e2e/dashboard.test.ts',
  'test/setup/setup.test.ts',
  'test/e2e/crash-points.test.ts',
  'test/laws/real.test.ts',
  'src/modules/deploys/rollout.test.ts',
  'test/e2e/api-workers.test.ts',
  'src/scheduler/plan/plan.test.ts',
  'test/agent/containers.test.ts',
  'test/security/containers.test.ts',
  'test/chaos/chaos.test.ts',
  'src/scheduler/memory/leader-memory.test.ts',
  'test/e2e/failover.test.ts',
  'test/e2e/muster-commands.test.ts',
  'test/security/hostile-values.test.ts',
  'src/scheduler/decommission.test.ts',
  'test/agent/restart.test.ts',
  'test/laws/silence.test.ts',
  'test/laws/year.test.ts',
  'src/modules/deploys/gates/gates.test.ts',
  'src/modules/deploys/balanced-rollout.test.ts',
  'test/e2e/muster-help.test.ts',
  'test/agent/upload-faults.test.ts',
  'test/e2e/upgrade.test.ts',
  'test/crash-points/deploys.test.ts',
  'test/crash-points/bounces.test.ts',
  'test/crash-points/cleanups.test.ts',
  'test/crash-points/jobs.test.ts',
  'test/crash-points/flows.test.ts',
  'test/e2e/cli.test.ts',
  'src/modules/auth/matrix.test.ts',
  'test/e2e/second-scheduler.test.ts',
  'test/e2e/muster-tour.test.ts',
  'test/e2e/backup-command.test.ts',
  'src/scheduler/pollers/cooldown.test.ts',
  'src/scheduler/cluster/slave-reconciliation.test.ts',
  'test/e2e/stop.test.ts',
  'test/agent/hostile-artifacts.test.ts',
  'test/agent/container-engines.test.ts',
  'test/setup/package.test.ts',
  'test/e2e/autoscaling.test.ts',
  'src/modules/requests/bouncing.test.ts',
  'test/operations/webhook-bodies.test.ts',
  'test/operations/events.test.ts',
  'src/modules/requests/state-machine.test.ts',
  'test/agent/crash-phases.test.ts',
  'test/faults/leadership.test.ts',
  'packages/migrate/test/import-from-command.test.ts',
  'test/e2e/clocks.test.ts',
  'test/e2e/backup.test.ts',
  'test/e2e/rollout.test.ts',
  'test/laws/everything.test.ts',
  'test/laws/services.test.ts',
  'test/laws/jobs.test.ts',
  'test/agent/rotation.test.ts',
  'test/operations/requests.test.ts',
  'test/recipes/recipes.test.ts',
  'test/simulation/day.test.ts',
  'test/clients/java-client.test.ts',
  'test/clients/go-client.test.ts',
  'test/clients/python-log-tool.test.ts',
  'test/history/old-history.test.ts',
  'test/load-balancer/outage.test.ts',
  'src/platform/leadership/pg-leadership.test.ts',
  'test/e2e/product.test.ts',
  'test/cluster/local-driver.test.ts',
  'src/scheduler/scheduler.test.ts',
  'test/e2e/openapi.test.ts',
  'test/e2e/readme.test.ts',
  'src/platform/backup/backup.test.ts',
  'src/modules/leadership/leadership.test.ts',
  'test/app.test.ts',
  'src/modules/auth/directory.test.ts',
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
