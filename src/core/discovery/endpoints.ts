import { cleanupRules } from '../cleanup/index.js';
import {
  checksDecide,
  type HealthContext,
  healthyAfterRunningMillis,
  isWell,
  judgeTask,
  type ObservedTask,
  passed,
} from '../health/index.js';
import type { Deploy } from '../model/deploy.js';
import type { SickTaskWait, TaskCleanupType } from '../model/enums.js';

/** A task of a service that has not ended, with everything that decides whether it gets calls. */
export interface ServiceTask extends ObservedTask {
  /** It was ordered to go; tasks of a bounce work on until they are replaced. */
  cleanupType?: TaskCleanupType;
  /** It is being ended. */
  killed: boolean;
  /** Of a sick task: why it was not replaced; absent: nothing was decided yet. */
  sickWait?: SickTaskWait;
  /** Host name or address, and rack, as the machine gave them. */
  host: string;
  rackId: string;
  slaveId: string;
  ports: readonly number[];
  /** Of its own deploy; absent: the deploy is gone. */
  context?: HealthContext;
}

interface TaskPlace {
  taskId: string;
  deployId: string;
  instanceNo: number;
  host: string;
  slaveId: string;
  rackId: string;
  /** All ports of the task; PORT0 of its environment is the first. */
  ports: number[];
}

/** A task that gets calls. */
export interface Endpoint extends TaskPlace {
  /** The port for calls: loadBalancerPortIndex of its deploy says which. */
  port: number;
  /** Epoch milliseconds from which it counts as healthy. That it was sick in between is not kept. */
  healthySince: number;
}

export const leftOutReasons = ['LEAVING', 'STARTING', 'UNHEALTHY', 'NO_PORT', 'BAD_ADDRESS', 'ADDRESS_TAKEN'] as const;
export type LeftOutReason = (typeof leftOutReasons)[number];

/** A task that gets no calls, and why. */
export interface LeftOutTask extends TaskPlace {
  reason: LeftOutReason;
  message: string;
}

export interface ServiceEndpoints {
  requestId: string;
  /** In the order of instances, then of task ids: the same endpoints are the same list. */
  endpoints: Endpoint[];
  leftOut: LeftOutTask[];
}

/** Sorts the tasks of a service by whether they get calls. */
export function serviceEndpoints(requestId: string, tasks: readonly ServiceTask[], now: number): ServiceEndpoints {
  const found: ServiceEndpoints = { requestId, endpoints: [], leftOut: [] };
  const taken = new Set<string>();
  for (const task of tasks.toSorted(byInstance)) {
    const { taskId, host, slaveId, rackId, ports, context } = task;
    const { id, deployId, instanceNo } = taskId;
    const plain = plainHost(host);
    const place = { taskId: id, deployId, instanceNo, host, slaveId, rackId, ports: [...ports] };
    const leave = (reason: LeftOutReason, message: string) => found.leftOut.push({ ...place, reason, message });
    const unwell = whyUnwell(task, now);
    if (unwell || !context) {
      leave(...(unwell ?? gone));
      continue;
    }
    const index = context.deploy.loadBalancerPortIndex ?? 0;
    const port = ports[index];
    if (port === undefined) leave('NO_PORT', `It has no port ${index}`);
    else if (plain === undefined) leave('BAD_ADDRESS', 'Its host is neither a host name nor an address');
    else if (taken.has(addressOf({ host: plain, port }))) leave('ADDRESS_TAKEN', 'Another task has the same address');
    else {
      taken.add(addressOf({ host: plain, port }));
      found.endpoints.push({ ...place, host: plain, port, healthySince: healthySince(task, context) });
    }
  }
  return found;
}

const gone: [LeftOutReason, string] = ['LEAVING', 'Its deploy is gone'];

function whyUnwell(task: ServiceTask, now: number): [LeftOutReason, string] | undefined {
  const { context, killed, cleanupType, sickWait } = task;
  if (killed || (cleanupType && leavesAtOnce(cleanupType)))
    return ['LEAVING', `It is being ended${cleanupType ? `: ${cleanupType}` : ''}`];
  if (task.state === 'TASK_KILLING') return ['LEAVING', 'Its main program is over'];
  if (!context) return undefined;
  // Until the leader has decided, and where it cannot tell, its own network may be at fault, and all tasks seem to be sick.
  const isSick = task.isSick && sickWait !== undefined && sickWait !== 'CANNOT_JUDGE';
  if (isWell({ ...task, isSick }, context, now)) return undefined;
  if (isSick) return ['UNHEALTHY', 'It fails its liveness checks'];
  if (judgeTask(task, context, now) === 'UNHEALTHY') return ['UNHEALTHY', 'It fails its health checks'];
  if (task.runningAt === undefined) return ['STARTING', 'It does not run yet'];
  const checked = checksDecide([task], context);
  return ['STARTING', checked ? 'It has not passed its health check yet' : 'It has not run for long enough yet'];
}

/** The others work on until they are replaced; a sick one leaves first. */
const leavesAtOnce = (type: TaskCleanupType): boolean =>
  cleanupRules[type].longRunningAtOnce || type === 'UNHEALTHY_TASK';

function healthySince(task: ObservedTask, context: HealthContext): number {
  const { lastResult, runningAt } = task;
  if (!checksDecide([task], context)) return runningAt! + healthyAfterRunningMillis(context.deploy, context.settings);
  return lastResult && passed(lastResult) ? lastResult.timestamp : runningAt!;
}

function byInstance({ taskId: a }: ServiceTask, { taskId: b }: ServiceTask): number {
  return a.instanceNo - b.instanceNo || (a.id < b.id ? -1 : 1);
}

const name = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i;

/**
 * A host name or an address, the latter of IPv6 in the one form that every program reads. Nothing else is written into the
 * configuration of a proxy. undefined: it is neither.
 */
export function plainHost(host: string): string | undefined {
  if (name.test(host)) return host;
  const url = `http://[${host}]`;
  return /^[0-9a-f:.]+$/i.test(host) && URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : undefined;
}

export const addressOf = ({ host, port }: Pick<Endpoint, 'host' | 'port'>): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Domains and paths under which a service is called, as its deploy gives them to a load balancer. */
export interface ServiceRoute {
  domains: string[];
  paths: string[];
  groups: string[];
}

export const routeOf = (deploy: Deploy): ServiceRoute => ({
  domains: deploy.loadBalancerDomains ?? [],
  paths: [deploy.serviceBasePath ?? [], deploy.loadBalancerAdditionalRoutes ?? []].flat(),
  groups: deploy.loadBalancerGroups ?? [],
});
