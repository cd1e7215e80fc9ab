import { instancesOf } from '../../../src/core/model/request.js';
import { isLongRunning } from '../../../src/core/model/enums.js';
import type { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import type { SeenTask, Sight } from '../world/world.js';
import { LawBroken } from './law-broken.js';

/**
 * A service whose old tasks end first starts none beyond its instances: of a task that was written just now. `single`: its deploys in
 * use were as they are now; otherwise only what holds for all of its deploys is known to have held. What runs on a machine counts,
 * whatever is written about it.
 */
export function checkOldFirst({ taskId }: SeenTask, sight: Sight, single: boolean, cluster: SimulatedCluster): void {
  const { request, activeDeployId, pendingDeployId } = sight.requests.get(taskId.requestId)!;
  if (!isLongRunning(request.requestType)) return;
  const strategies = sight.oldFirst.get(request.id)!;
  const running = new Set(cluster.runningTasks().map((spec) => spec.taskId));
  const live = [...sight.tasks.values()].filter(
    (task) => task.taskId.requestId === request.id && (task.endedAt === undefined || running.has(task.taskId.id)),
  );
  const isOldFirst = (id: string | undefined) => id !== undefined && strategies.get(id) === true;
  const isNow =
    pendingDeployId === undefined
      ? isOldFirst(activeDeployId) || live.some((task) => isOldFirst(task.taskId.deployId))
      : isOldFirst(pendingDeployId);
  const holds = single ? isNow : [...strategies.values()].every(Boolean);
  if (!holds || live.length <= instancesOf(request)) return;
  const names = live.map((task) => task.taskId.id).join(', ');
  throw new LawBroken('Where old tasks end first, no more live than instances', `${taskId.id} beside others: ${names}`);
}
