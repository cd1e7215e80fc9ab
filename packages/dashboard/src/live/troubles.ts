import type { CrashLoopInfo, DeployHistory, RequestParent, TaskIdHistory } from 'muster-client';

/** What is wrong with a request. */
export interface Trouble {
  readonly kind: 'crash loop' | 'cooling down' | 'last deploy failed' | 'last run failed' | 'too few instances';
  readonly text: string;
}

export interface Troubles {
  readonly crashLoops: Readonly<Record<string, readonly CrashLoopInfo[]>>;
  readonly underProvisioned: ReadonlySet<string>;
  readonly failedDeploys: ReadonlyMap<string, Trouble>;
  /** Requests whose last run has failed; for those that run for ever a task that failed says little. */
  readonly failedRuns: ReadonlySet<string>;
}

export const noTroubles: Troubles = {
  crashLoops: {},
  underProvisioned: new Set(),
  failedDeploys: new Map(),
  failedRuns: new Set(),
};

/** Of either outcome, in one read. */
export const MAX_RUNS = 500;

export interface Runs {
  readonly failed: readonly TaskIdHistory[];
  readonly finished: readonly TaskIdHistory[];
}

export function failuresOf(
  deploys: readonly DeployHistory[],
  { failed, finished }: Runs,
): Pick<Troubles, 'failedDeploys' | 'failedRuns'> {
  const failedDeploys = new Map<string, Trouble>();
  for (const { deployMarker, deployResult } of deploys) {
    const why = deployResult?.message === undefined ? '' : `: ${deployResult.message}`;
    failedDeploys.set(deployMarker.requestId, {
      kind: 'last deploy failed',
      text: `Deploy ${deployMarker.deployId} failed${why}`,
    });
  }
  // Behind the last one that was read, runs that finished are not known.
  const knownSince = finished.length < MAX_RUNS ? 0 : Math.min(...finished.map(({ updatedAt }) => updatedAt));
  const finishedAt = new Map<string, number>();
  for (const { taskId, updatedAt } of finished)
    finishedAt.set(taskId.requestId, Math.max(updatedAt, finishedAt.get(taskId.requestId) ?? 0));
  const last = failed.filter(
    ({ taskId, updatedAt }) => updatedAt >= Math.max(knownSince, finishedAt.get(taskId.requestId) ?? 0),
  );
  return { failedDeploys, failedRuns: new Set(last.map(({ taskId }) => taskId.requestId)) };
}

/** What is wrong with it, the worst first; nothing, where nothing is. */
export function troublesOf({ request, state }: RequestParent, all: Troubles): readonly Trouble[] {
  const { id, requestType } = request;
  const runsForEver = requestType === 'SERVICE' || requestType === 'WORKER';
  const loop = all.crashLoops[id]?.find(({ end }) => end === undefined);
  const found: readonly (Trouble | false | undefined)[] = [
    loop && { kind: 'crash loop', text: `Crash loop: ${loop.type.toLowerCase().replaceAll('_', ' ')}` },
    state === 'SYSTEM_COOLDOWN' && { kind: 'cooling down', text: 'Cooling down after failures' },
    all.failedDeploys.get(id),
    !runsForEver && all.failedRuns.has(id) && { kind: 'last run failed', text: 'The last run failed' },
    runsForEver &&
      state === 'ACTIVE' &&
      all.underProvisioned.has(id) && { kind: 'too few instances', text: 'Fewer instances than it should have' },
  ];
  return found.filter((trouble): trouble is Trouble => Boolean(trouble));
}
