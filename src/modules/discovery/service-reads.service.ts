import { Injectable } from '@nestjs/common';
import type { ReadFilter, User } from '../../core/authorization/index.js';
import {
  type Endpoint,
  type ProxyFormat,
  proxyText,
  routeOf,
  type ServiceEndpoints,
  serviceEndpoints,
  type ServiceRoute,
  type ServiceTask,
} from '../../core/discovery/index.js';
import { groupBy } from '../../core/group-by.js';
import { healthContext } from '../../core/health/index.js';
import { deployKeyText, type DeployKey } from '../../core/model/deploy.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { Rows } from '../../rows.js';
import { Access } from '../auth/access/access.service.js';
import type { StoredRequest } from '../requests/request.repository.js';
import { HealthSwitch } from '../tasks/health/health-switch.service.js';
import { unchecked } from '../tasks/health/watched-task.repository.js';
import type { ServiceEndpointsDto, ServicesQuery } from './discovery.dto.js';

interface ReadService extends ServiceEndpoints {
  /** Of the active deploy, else of the first one, which is in progress. */
  route?: ServiceRoute;
}

/** A service has some kilobytes of deploys, and some rows per task. */
const mostServices = 2_000;
const mostTasks = 20_000;

/** Reads services as those see them who call them. Every instance reads the rows, and keeps nothing. */
@Injectable()
export class ServiceReads {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly access: Access,
    private readonly health: HealthSwitch,
    private readonly clock: Clock,
  ) {}

  async one(requestId: string, user: User, withLeftOut = false): Promise<ServiceEndpointsDto> {
    const [found] = await this.read({ requestId: [requestId] }, this.access.sightOf(user));
    const { endpoints, leftOut } = found!;
    return { requestId, endpoints, ...(withLeftOut && { leftOut }) };
  }

  async list(query: ServicesQuery, user: User): Promise<ServiceEndpointsDto[]> {
    return (await this.read(query, this.access.sightOf(user))).map(({ requestId, endpoints }) => ({
      requestId,
      endpoints,
    }));
  }

  async configuration(format: ProxyFormat, query: ServicesQuery, user: User): Promise<string> {
    const services = await this.read(query, this.access.sightOf(user));
    const isWanted = ({ route }: ReadService) => query.requestId || (route && isRouted(route));
    const text = proxyText(format, format === 'TRAEFIK' ? services.filter(isWanted) : services);
    if (typeof text === 'string') return text;
    throw SchedulerError.invalid('INVALID_PARAMETER', text);
  }

  /** For those who are not known: a service of this group alone. undefined: there is none, or it is not in the group. */
  async ofGroup(requestId: string, loadBalancerGroup: string): Promise<Endpoint[] | undefined> {
    return this.db.snapshot(async (tx) => {
      const stored = await this.rows.requests.findServices(tx, { kind: 'all' }, [requestId], 1);
      const [found] = await this.withTasks(tx, stored);
      return found?.route?.groups.includes(loadBalancerGroup) ? found.endpoints : undefined;
    });
  }

  /** In the order of their ids. One that is named and is not there is refused: an empty answer would take it out of service. */
  private read({ requestId: ids, loadBalancerGroup: group }: ServicesQuery, sight: ReadFilter): Promise<ReadService[]> {
    return this.db.snapshot(async (tx) => {
      const stored = await this.rows.requests.findServices(tx, sight, ids, mostServices + 1);
      if (stored.length > mostServices) throw tooMany();
      if (ids) await this.requireAll(tx, ids, stored);
      const found = await this.withTasks(tx, stored);
      return group === undefined ? found : found.filter(({ route }) => route?.groups.includes(group));
    });
  }

  private async requireAll(tx: Transaction, ids: readonly string[], stored: readonly StoredRequest[]): Promise<void> {
    const known = new Set(stored.map(({ request }) => request.id));
    const missing = ids.find((id) => !known.has(id));
    if (missing === undefined) return;
    const other = await this.rows.requests.find(tx, missing);
    if (!other || other.request.requestType === 'SERVICE') throw SchedulerError.requestNotFound(missing);
    throw refused('type', `Request '${missing}' is of type ${other.request.requestType}; only a SERVICE has endpoints`);
  }

  private async withTasks(tx: Transaction, stored: readonly StoredRequest[]): Promise<ReadService[]> {
    const live = await this.rows.tasks.find(tx, { requestIds: stored.map(({ request }) => request.id) });
    if (live.length > mostTasks) throw tooMany();
    const described = new Map(stored.flatMap((one): [string, DeployKey][] => describedBy(one)));
    const keys = [...live.map(({ taskId }) => taskId), ...described.values()];
    const deploys = await this.rows.deploys.findMany(tx, [
      ...new Map(keys.map((key) => [deployKeyText(key), key])).values(),
    ]);
    const deployOf = (key: DeployKey) => deploys.get(deployKeyText(key))?.deploy;
    const checked = live.filter(({ taskId }) => deployOf(taskId)?.healthcheck);
    const watched = new Map((await this.rows.watchedTasks.observe(tx, checked)).map((task) => [task.taskId.id, task]));
    const settings = checked.length > 0 ? await this.health.inForce(tx) : this.health.unlessSwitched;
    const byRequest = groupBy(live, ({ taskId }) => taskId.requestId);
    const now = this.clock.now();
    return stored.map(({ request, pendingDeployId }) => {
      const tasks = (byRequest.get(request.id) ?? []).map((task): ServiceTask => {
        const { host, rackId, slaveId, ports, taskId } = task;
        const deploy = deployOf(taskId);
        const context = deploy && healthContext(deploy, request, pendingDeployId === taskId.deployId, settings);
        return { ...(watched.get(taskId.id) ?? unchecked(task)), host, rackId, slaveId, ports, context };
      });
      const key = described.get(request.id);
      const deploy = key && deployOf(key);
      return { ...serviceEndpoints(request.id, tasks, now), route: deploy && routeOf(deploy) };
    });
  }
}

const isRouted = ({ domains, paths }: ServiceRoute): boolean => domains.length + paths.length > 0;

function describedBy({ request, activeDeployId, pendingDeployId }: StoredRequest): [string, DeployKey][] {
  const deployId = activeDeployId ?? pendingDeployId;
  return deployId === undefined ? [] : [[request.id, { requestId: request.id, deployId }]];
}

const refused = (rule: string, message: string): SchedulerError =>
  SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'requestId', rule, message }]);

const tooMany = (): SchedulerError =>
  refused(
    'maximum',
    `There are more than ${mostServices} services, or ${mostTasks} tasks: name fewer services by requestId`,
  );
