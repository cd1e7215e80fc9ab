import type { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import { isLongRunning } from '../../../src/core/model/enums.js';
import type { SeenRequest, SeenTask, Sight } from '../world/world.js';
import { instancesOf } from '../../../src/core/model/request.js';

/** Differences that are left between the tasks that live and those that are wanted, in words. Empty: all is well. */
export function unfulfilled(sight: Sight, cluster: SimulatedCluster): string[] {
  const problems: string[] = [];
  const live = [...sight.tasks.values()].filter(({ endedAt }) => endedAt === undefined);
  for (const seen of sight.requests.values()) {
    const { id } = seen.request;
    const tasks = live.filter(({ taskId }) => taskId.requestId === id);
    problems.push(...ofRequest(seen, tasks, sight).map((problem) => `${id} (${seen.state}) ${problem}`));
  }
  for (const { taskId } of live) {
    if (!sight.requests.has(taskId.requestId)) problems.push(`${taskId.id} lives without its request`);
  }
  const running = new Set(cluster.runningTasks().map(({ taskId }) => taskId));
  for (const { taskId, state } of live) {
    if (state === 'TASK_RUNNING' && !running.has(taskId.id)) problems.push(`${taskId.id} does not run on its machine`);
  }
  problems.push(...sight.orders.map((order) => `order not carried out: ${order}`));
  return problems;
}

function ofRequest(seen: SeenRequest, tasks: readonly SeenTask[], sight: Sight): string[] {
  const { request, state, activeDeployId, pendingDeployId, bouncing } = seen;
  const pending = sight.pending.filter(({ requestId }) => requestId === request.id);
  const queued = sight.queue.filter(({ requestId }) => requestId === request.id);
  const problems: string[] = [];
  const complain = (isWrong: boolean, text: string) => void (isWrong && problems.push(text));
  complain(pendingDeployId !== undefined, `still deploys ${pendingDeployId}`);
  complain(bouncing, 'still bounces');
  complain(queued.length > 0, `waits in the queue: ${queued.map(({ pendingType }) => pendingType).join(', ')}`);
  const nothingWanted = state === 'PAUSED' || state === 'FINISHED' || activeDeployId === undefined;
  if (state !== 'ACTIVE' && !nothingWanted) return [...problems, 'is in a state that should have passed'];
  if (request.requestType === 'SCHEDULED' && !nothingWanted) {
    const count = tasks.length + pending.length;
    complain(count !== 1, `has ${tasks.length} runs and ${pending.length} planned ones`);
    return problems;
  }
  complain(pending.length > 0, `has pending tasks: ${pending.map(({ instanceNo }) => instanceNo).join(', ')}`);
  const instances = isLongRunning(request.requestType) && !nothingWanted ? instancesOf(request) : 0;
  // Their numbers may have gaps: who is left of more instances keeps the number.
  const staying = tasks.filter(
    ({ taskId, state: at, cleaning, killed }) =>
      taskId.deployId === activeDeployId && at === 'TASK_RUNNING' && !cleaning && !killed,
  );
  const numbers = new Set(staying.map(({ taskId }) => taskId.instanceNo));
  const have = tasks.map((task) => `${task.taskId.deployId} ${task.taskId.instanceNo} ${task.state}`).join(', ');
  const isRight = tasks.length === instances && staying.length === instances && numbers.size === instances;
  complain(!isRight, `has [${have}] instead of ${instances} running tasks of ${activeDeployId}`);
  return problems;
}
