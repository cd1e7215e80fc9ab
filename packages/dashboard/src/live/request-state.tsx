import type { RequestParent } from 'muster-client';
import { Badge, Mark } from '../ui/badge';
import type { Trouble } from './troubles';

/** The state of a request: what is wrong with it before all else, so that nothing that fails is green anywhere. */
export function RequestStateMark({ row, troubles }: { row: RequestParent; troubles: readonly Trouble[] }) {
  const [worst] = troubles;
  if (worst) return <Mark tone="bad">{worst.text}</Mark>;
  if (row.requestDeployState?.pendingDeploy) return <Mark tone="busy">Deploying</Mark>;
  return <Badge of="request" state={row.state} />;
}
