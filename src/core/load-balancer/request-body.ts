import { requestIdText } from './records.js';
import type { Deploy } from '../model/deploy.js';
import type { LoadBalancerRequestId } from '../model/load-balancer.js';
import type { Request } from '../model/request.js';
import type { TaskId } from '../model/task.js';

/** A task as the load balancer sees it. */
export interface BalancedTask {
  taskId: TaskId;
  /** Host name and rack as the machine gave them, not sanitized. */
  host: string;
  rackId: string;
  ports: readonly number[];
  /** Its own deploy, which says on which port it listens. */
  deploy: Deploy;
}

/** Puts tasks behind a service and takes others away, in one step. */
export interface BalancerChange {
  request: Request;
  /** Describes the service. */
  deploy: Deploy;
  add: readonly BalancedTask[];
  remove: readonly BalancedTask[];
}

export interface Upstream {
  /** "host:port" */
  upstream: string;
  /** Id of the change that added it. */
  requestId: string;
  rackId?: string;
  group: string;
}

interface BalancerService {
  serviceId: string;
  owners: string[];
  serviceBasePath?: string;
  additionalPaths: string[];
  loadBalancerGroups: string[];
  options?: Record<string, unknown>;
  templateName?: string;
  domains: string[];
  edgeCacheDomains: string[];
  preResolveUpstreamDNS: boolean;
}

export interface BalancerRequestBody {
  loadBalancerRequestId: string;
  loadBalancerService: BalancerService;
  addUpstreams: Upstream[];
  removeUpstreams: Upstream[];
  replaceUpstreams: Upstream[];
  action: 'UPDATE' | 'DELETE';
  noValidate: boolean;
  noReload: boolean;
  upstreamUpdateOnly: boolean;
  noDuplicateUpstreams: boolean;
}

export interface BalancerBodySettings {
  preResolveUpstreamDNS: boolean;
  skipDNSPreResolutionForRequests: readonly string[];
  taskLabelForLoadBalancerUpstreamGroup?: string | undefined;
}

/** Group of upstreams that name none. */
export const defaultUpstreamGroup = 'default';

/** Group of the deploy's upstreams unless a label of a task names another. */
export const upstreamGroup = (deploy: Deploy): string => deploy.loadBalancerUpstreamGroup ?? defaultUpstreamGroup;

export const balancerServiceId = (requestId: string, deploy: Deploy): string =>
  deploy.loadBalancerServiceIdOverride ?? requestId;

/** undefined: it has no such port, so it cannot be reached. */
export function upstreamOf(
  { taskId, host, rackId, ports, deploy }: BalancedTask,
  id: LoadBalancerRequestId,
  settings: BalancerBodySettings,
): Upstream | undefined {
  const port = ports[deploy.loadBalancerPortIndex ?? 0];
  if (port === undefined) return undefined;
  const label = settings.taskLabelForLoadBalancerUpstreamGroup;
  const labels = [...(deploy.clusterLabels ?? []), ...(deploy.clusterTaskLabels?.[taskId.instanceNo] ?? [])];
  // The labels of a single instance come last and win.
  const group = label === undefined ? undefined : labels.findLast(({ key }) => key === label)?.value;
  return { upstream: `${host}:${port}`, requestId: requestIdText(id), rackId, group: group ?? upstreamGroup(deploy) };
}

/** Body of the call that changes the upstreams of a service. */
export function updateBody(
  id: LoadBalancerRequestId,
  { request, deploy, add, remove }: BalancerChange,
  settings: BalancerBodySettings,
): BalancerRequestBody {
  const upstreams = (tasks: readonly BalancedTask[]) => tasks.flatMap((task) => upstreamOf(task, id, settings) ?? []);
  return upstreamsBody(id, { request, deploy }, upstreams(add), upstreams(remove), settings);
}

/** Body for upstreams whose tasks are not known any more. */
export function upstreamsBody(
  id: LoadBalancerRequestId,
  { request, deploy }: Pick<BalancerChange, 'request' | 'deploy'>,
  add: Upstream[],
  remove: Upstream[],
  settings: BalancerBodySettings,
): BalancerRequestBody {
  const skipsDns = settings.skipDNSPreResolutionForRequests.includes(request.id);
  const service: BalancerService = {
    serviceId: balancerServiceId(request.id, deploy),
    owners: request.owners ?? [],
    serviceBasePath: deploy.serviceBasePath,
    additionalPaths: deploy.loadBalancerAdditionalRoutes ?? [],
    loadBalancerGroups: deploy.loadBalancerGroups ?? [],
    options: deploy.loadBalancerOptions,
    templateName: deploy.loadBalancerTemplate,
    domains: deploy.loadBalancerDomains ?? [],
    edgeCacheDomains: [],
    preResolveUpstreamDNS: settings.preResolveUpstreamDNS && !skipsDns,
  };
  return body(id, service, 'UPDATE', add, remove);
}

/** Body of the call that deletes a service. */
export function deleteBody(
  id: LoadBalancerRequestId,
  { requestId, groups, basePath }: RemovedService,
): BalancerRequestBody {
  const service: BalancerService = {
    serviceId: requestId,
    owners: [],
    serviceBasePath: basePath,
    additionalPaths: [],
    loadBalancerGroups: [...groups],
    domains: [],
    edgeCacheDomains: [],
    preResolveUpstreamDNS: false,
  };
  return body(id, service, 'DELETE', [], []);
}

/** The service of a request that is gone. */
export interface RemovedService {
  requestId: string;
  groups: readonly string[];
  basePath?: string;
}

const body = (
  id: LoadBalancerRequestId,
  service: BalancerService,
  action: BalancerRequestBody['action'],
  addUpstreams: Upstream[],
  removeUpstreams: Upstream[],
): BalancerRequestBody => ({
  loadBalancerRequestId: requestIdText(id),
  loadBalancerService: service,
  addUpstreams,
  removeUpstreams,
  replaceUpstreams: [],
  action,
  noValidate: false,
  noReload: false,
  upstreamUpdateOnly: false,
  noDuplicateUpstreams: true,
});

type UpstreamCheck =
  | { kind: 'nothing' }
  | { kind: 'remove'; extra: Upstream[] }
  /** Nothing of what is there would be left: more likely it is us who see it wrong. */
  | { kind: 'refuse'; extra: Upstream[] };

/** Finds upstreams of a group behind which there is no task. */
export function findExtraUpstreams(
  present: readonly Upstream[],
  wanted: readonly Upstream[],
  group: string,
): UpstreamCheck {
  const known = new Set(wanted.map(keyOf));
  const ofGroup = present.filter((upstream) => upstream.group === group);
  const extra = ofGroup.filter((upstream) => !known.has(keyOf(upstream)));
  if (extra.length === 0) return { kind: 'nothing' };
  return { kind: extra.length === ofGroup.length ? 'refuse' : 'remove', extra };
}

const keyOf = ({ upstream, group, rackId }: Upstream): string => JSON.stringify([upstream, group, rackId ?? null]);
