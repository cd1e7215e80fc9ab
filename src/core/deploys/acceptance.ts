import type { CanaryDeploySettings } from '../model/deploy.js';
import type { DeployAcceptanceState } from '../model/enums.js';
import type { CanaryDeployProgress } from './progress.js';

type Acceptance =
  | { kind: 'accepted' }
  | { kind: 'rejected'; message: string }
  | { kind: 'wait'; checkAgainAt: number }
  | { kind: 'check'; names: string[] };

/** Result of a check of a step of a deploy. */
export interface AcceptanceResult {
  name: string;
  state: DeployAcceptanceState;
  /** Message for people; kept in the progress of the deploy. */
  message?: string;
}

/** Shortest time between two runs of checks that could not decide yet. */
const millisBetweenChecks = 1_000;

/** Combines the results of all checks for a step whose tasks are healthy. `bound`: names of the checks there are. */
export function acceptance(
  progress: CanaryDeployProgress,
  { acceptanceMode, waitMillisBetweenGroups }: CanaryDeploySettings,
  bound: readonly string[],
  now: number,
): Acceptance {
  switch (acceptanceMode) {
    case 'NONE':
      return { kind: 'accepted' };
    case 'TIMED': {
      const waitUntil = progress.timestamp + waitMillisBetweenGroups;
      return now > waitUntil ? { kind: 'accepted' } : { kind: 'wait', checkAgainAt: waitUntil + 1 };
    }
    case 'CHECKS':
      return byChecks(progress, bound, now);
  }
}

function byChecks(progress: CanaryDeployProgress, bound: readonly string[], now: number): Acceptance {
  const results = bound.map((name) => progress.stepAcceptanceResults[name]);
  if (results.includes('FAILED')) {
    return { kind: 'rejected', message: progress.acceptanceResultMessageHistory.join(', ') };
  }
  const names = bound.filter((_name, index) => results[index] !== 'SUCCEEDED');
  if (names.length === 0) return { kind: 'accepted' };
  const ranBefore = results.every((result) => result !== undefined);
  const again = progress.timestamp + millisBetweenChecks;
  return ranBefore && now < again ? { kind: 'wait', checkAgainAt: again } : { kind: 'check', names };
}

/** Keeps what checks said; those that could not decide are asked again. */
export function withResults(
  progress: CanaryDeployProgress,
  results: readonly AcceptanceResult[],
  now: number,
): CanaryDeployProgress {
  const states = Object.fromEntries(results.map(({ name, state }) => [name, state]));
  const said = results.flatMap(({ name, state, message }) => (message ? [`(${name} - ${state}) ${message}`] : []));
  // A check that says the same for an hour is quoted once.
  const heard = progress.acceptanceResultMessageHistory;
  return {
    ...progress,
    stepAcceptanceResults: { ...progress.stepAcceptanceResults, ...states },
    acceptanceResultMessageHistory: [...heard, ...said.filter((text) => !heard.includes(text))],
    timestamp: now,
  };
}
