import { useMemo } from 'react';
import { isStatus, muster } from '../api';
import { DAY_MS } from '../ui/duration';
import { useRead } from '../ui/read';
import { failuresOf, MAX_RUNS, noTroubles, type Troubles } from './troubles';

/** Some of these are for those who may read everything; the others see what they may. */
const ifAllowed = <T>(call: Promise<readonly T[]>): Promise<readonly T[]> =>
  call.catch((cause: unknown) => {
    if (isStatus(cause, 403)) return [];
    throw cause;
  });

/** What is wrong anywhere, from calls that answer for all requests at once. */
export function useTroubles(): Troubles {
  const read = useRead(['troubles'], async () => {
    const since = { updatedAfter: Date.now() - DAY_MS, count: MAX_RUNS };
    const [crashLoops, underProvisioned, deploys, failed, finished] = await Promise.all([
      muster.requests.crashLoops({}),
      ifAllowed(muster.state.underProvisioned({})),
      muster.deploys.failed({}),
      ifAllowed(muster.history.tasks({ ...since, lastTaskStatus: 'TASK_FAILED' })),
      ifAllowed(muster.history.tasks({ ...since, lastTaskStatus: 'TASK_FINISHED' })),
    ]);
    return { crashLoops, underProvisioned, deploys, runs: { failed, finished } };
  });
  return useMemo(() => {
    if (read.data === undefined) return noTroubles;
    const { crashLoops, underProvisioned, deploys, runs } = read.data;
    return { crashLoops, underProvisioned: new Set(underProvisioned), ...failuresOf(deploys, runs) };
  }, [read.data]);
}
