import { readdirSync } from 'node:fs';

/**
 * Tests that only `npm run test:deep` runs, because they take long: a directory (with a slash at its end) or a file.
 * `npm test` runs everything else, has to end within about three minutes on two cores and yet keeps every kind of test.
 */
export const deep = [
  // Every operation of the API on the built product, again as clients of older installations call it, those clients themselves,
  // and made-up calls.
  'test/operations/',
  'test/older-clients/',
  'test/clients/',
  'test/fuzz/',
  // The scheduler killed at every step, an hour on a simulated cluster, leaders and load balancers that fail.
  'test/crash-points/',
  'test/simulation/',
  'test/faults/',
  'test/chaos/',
  'test/load-balancer/',
  // Every type of mail by what causes it, and a scheduler that is killed while it sends one.
  'test/mail/',
  // Fresh clones that install themselves, old installations and dumps.
  'test/setup/',
  'test/history/',
  // The built product: starts, stops, kills and updates; the application with another one beside it, and with a database that goes.
  'test/e2e/',
  'test/app.test.ts',
  // Each recipe of the pages, on that.
  'test/recipes/',
  'packages/migrate/test/import-from.test.ts',
  'packages/migrate/test/import-from-command.test.ts',
  'packages/migrate/test/import-history-command.test.ts',
  // Every operation with every hostile value, bodies of megabytes, a task that tries everything.
  'test/security/hostile-bodies.test.ts',
  'test/security/hostile-values.test.ts',
  'test/security/what-others-read.test.ts',
  'test/security/what-tenants-store.test.ts',
  'test/ids.test.ts',
  'test/security/agent.test.ts',
  'test/security/files.test.ts',
  'test/security/interrupted-migrations.test.ts',
  'test/security/many-runs.test.ts',
  'test/security/hostile-task.test.ts',
  'test/security/hostile-names.test.ts',
  'test/security/containers.test.ts',
  'test/security/takeover.test.ts',
  // A real agent with everything that a driver promises, agents that are killed, and everything that waits for graces and time limits
  // of real processes.
  'test/cluster/local-driver.test.ts',
  'test/agent/artifact-cache.test.ts',
  'test/agent/artifact-faults.test.ts',
  'test/agent/signed-artifacts.test.ts',
  'test/agent/containers.test.ts',
  'test/agent/container-engines.test.ts',
  'test/agent/crash-phases.test.ts',
  'test/agent/disk.test.ts',
  'test/agent/executor.test.ts',
  'test/agent/hang.test.ts',
  'test/agent/hostile-files.test.ts',
  'test/agent/hostile-artifacts.test.ts',
  'test/agent/killing.test.ts',
  'test/agent/limits.test.ts',
  'test/agent/own-user.test.ts',
  'test/agent/pod-agent.test.ts',
  'test/agent/pod-artifacts.test.ts',
  'test/agent/pod-logs.test.ts',
  'test/agent/pod-tasks.test.ts',
  'test/agent/programs.test.ts',
  'test/agent/restart.test.ts',
  'test/agent/rotation.test.ts',
  'test/agent/rotation-full-disk.test.ts',
  'test/agent/retention.test.ts',
  'test/agent/shell-commands.test.ts',
  'test/agent/start.test.ts',
  'test/agent/unprivileged.test.ts',
  'test/agent/uploads.test.ts',
  'test/agent/upload-faults.test.ts',
  'test/agent/upload-files.test.ts',
  // Leaders that lose their session, connection or process, instances beside one another, and mail that waits for its turn.
  'src/platform/leadership/pg-leadership.test.ts',
  'src/modules/leadership/leadership.test.ts',
  'src/modules/mail/mail-delivery.test.ts',
  // Every operation with every role, directories of users with their servers, and trails that are written at a stop.
  'src/modules/auth/matrix.test.ts',
  'src/modules/auth/directory.test.ts',
  'src/modules/auth/audit/audit.test.ts',
  'src/modules/auth/users.test.ts',
  // Stories of the scheduler on a virtual clock, told to their end.
  'src/modules/deploys/balanced-rollout.test.ts',
  'src/modules/requests/autoscale/autoscale.test.ts',
  'src/modules/requests/bouncing.test.ts',
  'src/modules/requests/state-machine.test.ts',
  'src/modules/deploys/gates/gates.test.ts',
  'src/modules/deploys/rollout.test.ts',
  'src/modules/deploys/waiting-deploy.test.ts',
  'src/modules/tasks/shell-commands/running.test.ts',
  'src/modules/usage/sampling.test.ts',
  'src/scheduler/backfills.test.ts',
  'src/scheduler/cluster/known-fleet.test.ts',
  'src/scheduler/cluster/slave-reconciliation.test.ts',
  'src/scheduler/concurrency-groups.test.ts',
  'src/scheduler/contention.test.ts',
  'src/scheduler/crashes.test.ts',
  'src/scheduler/decommission.test.ts',
  'src/scheduler/explain/explain.test.ts',
  'src/scheduler/flows/flows.test.ts',
  'src/scheduler/given-up-tasks.test.ts',
  'src/scheduler/memory/leader-memory.test.ts',
  'src/scheduler/plan/decommission-plans.test.ts',
  'src/scheduler/plan/plan.test.ts',
  'src/scheduler/planned-runs.test.ts',
  'src/scheduler/pollers/cooldown.test.ts',
  'src/scheduler/pollers/crash-loop.poller.test.ts',
  'src/scheduler/pollers/job.poller.test.ts',
  'src/scheduler/reconciliation/reconciliation.test.ts',
  'src/scheduler/removal.test.ts',
  'src/scheduler/retries.test.ts',
  'src/scheduler/schedule-start.test.ts',
  'src/scheduler/scheduled-runs.test.ts',
  'src/scheduler/scheduler.test.ts',
  'src/scheduler/spread-all.test.ts',
  'src/scheduler/start-order.test.ts',
  'src/scheduler/status/returned-tasks.test.ts',
  'src/scheduler/status/status-updates.test.ts',
  // Random writers and listeners, schedules of centuries, and a compiler for each small tree.
  'src/core/schedules/recurrence-laws.test.ts',
  'src/modules/events/event-streams.test.ts',
  'src/modules/events/event-streams.laws.test.ts',
  'test/house/house.test.ts',
  // The laws of a year, of silence and of all kinds together; of the others `npm test` runs some (`both`).
  'test/laws/',
  // Backups of whole databases, and each wrong input of the pages.
  'src/platform/backup/backup.test.ts',
  'test/docs/wrong-inputs.test.ts',
  // Thousands of rows or targets, servers and workers that are started and stopped, whole programs that are compiled.
  'packages/rest-contract/test/compiler-messages.test.ts',
  'packages/rest-contract/test/package.test.ts',
  'test/contract/generated-client.test.ts',
  'src/cli/server/workers/worker-pool.test.ts',
  'src/modules/history/history-plans.test.ts',
  'src/modules/logs/logs.test.ts',
  'src/modules/logs/many-objects.test.ts',
  'src/modules/tasks/health/many-checks.test.ts',
  'src/modules/webhooks/webhook-faults.test.ts',
  'src/platform/embedded-server/embedded-server.test.ts',
  'src/platform/process/garbage.test.ts',
  'test/docs/plan-page.test.ts',
];

/** Inside of a folder of `deep`, and run by `npm test` all the same: one of each kind. */
export const daily = ['test/e2e/product.test.ts', 'test/operations/ledger.test.ts', 'test/operations/priority.test.ts'];

/** Laws that both steps hold: few of their random schedules in `npm test`, more of them in the deep step. */
export const both = ['test/laws/found.test.ts', 'test/laws/jobs.test.ts', 'test/laws/real.test.ts'];

/**
 * In no step: minutes of a browser, for one page after the other (`npm test -- test/clients/web-ui` runs it), states that records of a
 * Java client are read in, whose load balancer lets nothing go at the stop, and a Kubernetes that is built first
 * (`npm run test:kubernetes`).
 */
export const byNameOnly = ['test/clients/web-ui/', 'test/clients/java-states.test.ts', 'test/kubernetes/'];

/**
 * Folders of deep tests of which `npm run test:deep` runs a third (DEEP_EVERY), by the seed that the program's files give: after other
 * changes it runs the others. Each part has every kind. All other deep tests run each time, and with `--all` everything does.
 */
export const inTurns = [
  'packages/migrate/',
  'src/modules/',
  'src/scheduler/',
  'test/agent/',
  'test/clients/',
  'test/e2e/',
  'test/faults/',
  'test/load-balancer/',
  'test/mail/',
  'test/older-clients/',
  'test/operations/',
  'test/security/',
  'test/setup/',
];

/** Inside of a folder of `inTurns`, and in every part all the same: the only ones of their kind. */
export const everyTime = [
  'src/scheduler/scheduler.test.ts',
  'test/e2e/dashboard.test.ts',
  'test/e2e/openapi.test.ts',
  'test/e2e/readme.test.ts',
];

const inside = (file: string, places: readonly string[]): boolean =>
  places.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place));

export function stepsOf(file: string): ('daily' | 'deep')[] {
  if (inside(file, byNameOnly)) return [];
  if (inside(file, both)) return ['daily', 'deep'];
  return inside(file, deep) && !inside(file, daily) ? ['deep'] : ['daily'];
}

/**
 * Those of the deep `files` that one run in `every` runs, for this seed. Of each folder the files that take longest, which `longest` has
 * in their order, are dealt out first: no part has much more of them than another.
 */
export function partOf(files: readonly string[], longest: readonly string[], every: number, seed: number): string[] {
  const place = (file: string): number => {
    const found = longest.indexOf(file);
    return found < 0 ? longest.length : found;
  };
  const rests = inTurns.flatMap((folder, index) =>
    files
      .filter((file) => file.startsWith(folder) && !everyTime.includes(file))
      .toSorted((a, b) => place(a) - place(b))
      // Another folder begins with another part: the longest files of all folders do not meet in one.
      .filter((_, at) => (at + index + seed) % every !== 0),
  );
  return files.filter((file) => !rests.includes(file));
}

/** Test files of the whole project, by their paths from its root. */
export function testFiles(root: string): string[] {
  return ['src', 'test', 'packages'].flatMap((folder) =>
    readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => path.endsWith('.test.ts') && !/\/(node_modules|dist)\//.test(path)),
  );
}
