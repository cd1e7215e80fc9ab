import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import type { FieldError } from '../../core/field-error.js';
import { namedParents, parentProblems } from '../../core/flows/index.js';
import type { Request } from '../../core/model/request.js';
import { recordBytes } from '../../core/record-size.js';
import {
  bounceCapacityProblem,
  capacityProblem,
  followsActiveSlaves,
  needsMachineEach,
  normalizeRequest,
  onePerSlave,
  scaleDownProblem,
  validateRequest,
  type RequestLimits,
} from '../../core/request-validation/index.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { ServiceAsker } from '../../platform/service-asker.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import { Access } from '../auth/access/access.service.js';
import { RequestQuotas } from './request-quotas.service.js';
import type { StoredRequest } from './request.repository.js';

/** The rules of src/core/request-validation, with what they need to know from the database. Each throws a 400. */
@Injectable()
export class RequestChecks {
  /** Put together once: there are hundreds of settings. */
  private readonly limits: RequestLimits;

  constructor(
    private readonly rows: Rows,
    private readonly quotas: RequestQuotas,
    private readonly access: Access,
    private readonly asker: ServiceAsker,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.limits = { ...settings.cluster, ...settings };
  }

  /**
   * Answers the request as it is to be stored in place of `stored`. isOlder: of an older installation, or its clients. `reader`: who is told
   * what is wrong, and may not know of all requests. `isLapsing`: its number of instances is for a while.
   */
  async valid(
    tx: Queryable,
    request: Request,
    stored: StoredRequest | undefined,
    {
      isOlder = this.settings.compatibility === '1.5',
      reader,
      isLapsing,
    }: { isOlder?: boolean; reader?: User; isLapsing?: boolean } = {},
  ): Promise<Request> {
    const normalized = normalizeRequest(await this.sized(tx, request), stored?.request);
    const errors = validateRequest(normalized, {
      limits: this.limits,
      stored: stored?.request,
      now: this.clock.now(),
      isOlder,
      isLapsing,
      mayAskHost: (host) => this.asker.mayName(host),
      deploys: stored ? await this.deploysOf(tx, stored) : [],
    });
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_REQUEST', errors);
    await this.parents(tx, normalized, stored?.request, reader);
    if (!stored || stored.request.group !== normalized.group) await this.quotas.refuseRequest(tx, normalized);
    return normalized;
  }

  /** Its group has room for the bytes that it takes beyond `former`. */
  async room(tx: Queryable, request: Request, former?: Request): Promise<void> {
    const sizes = { bytes: recordBytes(request), formerBytes: former && recordBytes(former) };
    refuse(await this.quotas.bytesProblem(tx, 'request', { request, former }, sizes));
  }

  /** Are there machines for all instances? `previous`: running tasks that stay up beside them. */
  async capacity(tx: Transaction, request: Request, previous?: number): Promise<void> {
    if (!needsMachineEach(request, this.settings)) return;
    const activeSlaves = await this.rows.slaves.activeCount(tx);
    refuse(capacityProblem(request, { activeSlaves, previous }, this.settings));
  }

  async bounceCapacity(tx: Transaction, request: Request, incremental: boolean): Promise<void> {
    const activeSlaves = await this.rows.slaves.activeCount(tx);
    refuse(bounceCapacityProblem(request, { incremental, activeSlaves }, this.settings));
  }

  /** The number of instances of some requests cannot be chosen. */
  scalable(request: Request): void {
    if (!followsActiveSlaves(request, this.settings)) return;
    const message = `instances: request '${request.id}' has as many as there are active slaves`;
    refuse({ field: 'instances', rule: 'followsSlaves', message });
  }

  /** Refuses a scale that ends many tasks at once unless it is acknowledged. */
  scaleDown(request: Request, change: { from: number; to: number; acknowledged: boolean }): void {
    refuse(scaleDownProblem(request, change, this.settings.maxScaleDownWithoutAcknowledgement));
  }

  /** The requests that it names are there, of the right kind, and none of them follows it. That stays so until the commit. */
  private async parents(
    tx: Queryable,
    request: Request,
    stored: Request | undefined,
    reader: User | undefined,
  ): Promise<void> {
    const idsOf = (of: Request | undefined) => (of ? namedParents(of).map(({ requestId }) => requestId) : []);
    const ids = idsOf(request);
    if (ids.length === 0) return;
    if (isDeepStrictEqual(followOf(request), stored && followOf(stored))) return;
    await this.rows.flowGraph.lock(tx);
    const known = await this.rows.flowGraph.parents(tx, ids, request.id);
    const former = new Set(idsOf(stored));
    const edges = await this.rows.flowGraph.above(tx, ids);
    const named = [request.id, ...edges.map(({ child }) => child)];
    const readable = reader && (await this.access.sort(reader, named, tx)).readable;
    const errors = parentProblems(
      request,
      known,
      former,
      edges,
      readable && ((id) => id === request.id || readable(id)),
    );
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_REQUEST', errors);
  }

  private async sized(tx: Queryable, request: Request): Promise<Request> {
    if (!followsActiveSlaves(request, this.settings)) return request;
    return onePerSlave(request, await this.rows.slaves.spreadCount(tx, request.id));
  }

  private async deploysOf(tx: Queryable, { request, activeDeployId, pendingDeployId }: StoredRequest) {
    const ids = [activeDeployId, pendingDeployId].filter((id) => id !== undefined);
    const found = await this.rows.deploys.findMany(
      tx,
      ids.map((deployId) => ({ requestId: request.id, deployId })),
    );
    return [...found.values()].map(({ deploy }) => ({
      id: deploy.id,
      resources: deploy.resources,
      tasks: deploy.tasks,
    }));
  }
}

function refuse(problem: FieldError | undefined): void {
  if (problem) throw SchedulerError.invalid('INVALID_REQUEST', [problem]);
}

/** Members that say whom a request follows. */
const followOf = ({ after = [], afterMode, startAfter = [] }: Request) => [
  ...after.map(({ requestId, on }) => `${on} ${requestId}`),
  afterMode,
  ...startAfter,
];
