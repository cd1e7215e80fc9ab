import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../cluster/cluster-driver.js';
import { withPresentInstances } from '../../core/autoscale/index.js';
import { validateDeploy } from '../../core/deploy-validation/index.js';
import { errorBelow } from '../../core/field-error.js';
import type { Deploy } from '../../core/model/deploy.js';
import { instancesOf, type Request } from '../../core/model/request.js';
import { recordBytes } from '../../core/record-size.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { ServiceAsker } from '../../platform/service-asker.js';
import { uploadBucketsOf } from '../../platform/settings/log-store-settings.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { PriorityFreezeRepository } from '../priority/priority-freeze.repository.js';
import { RequestChecks } from '../requests/request-checks.service.js';
import { RequestQuotas } from '../requests/request-quotas.service.js';
import type { StoredRequest } from '../requests/request.repository.js';
import { TaskRepository } from '../tasks/task.repository.js';
import { refusedContainerErrors, refusedUserErrors, unsupportedDeployErrors } from '../requests/driver-refusals.js';

/** Everything that may be wrong with a deploy that a caller wants to start. */
@Injectable()
export class DeployChecks {
  constructor(
    private readonly tasks: TaskRepository,
    private readonly requests: RequestChecks,
    private readonly quotas: RequestQuotas,
    private readonly freezes: PriorityFreezeRepository,
    private readonly asker: ServiceAsker,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** The request as it will be when the deploy is active: `updated`, checked like any update of the stored one. */
  async effectiveRequest(tx: Transaction, stored: StoredRequest, updated: Request | undefined): Promise<Request> {
    if (!updated) return stored.request;
    const { id } = stored.request;
    if (updated.id !== id) {
      const message = `updatedRequest.id must be '${id}', the request of the deploy`;
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'updatedRequest.id', rule: 'match', message }]);
    }
    // It would count when the deploy has succeeded, and make a cycle with what others have saved until then.
    for (const member of ['after', 'startAfter'] as const) {
      if (isDeepStrictEqual(updated[member], stored.request[member])) continue;
      const field = `updatedRequest.${member}`;
      const message = `${field} must be as it is stored: save the request to change whom it follows`;
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field, rule: 'unchanged', message }]);
    }
    const sent = withPresentInstances(updated, stored.request);
    return this.requests.valid(tx, sent, stored).catch(tellBelow('updatedRequest'));
  }

  /** Enough machines for its instances, and no slip that ends many tasks at once. */
  async checkScale(tx: Transaction, request: Request, acknowledged: boolean): Promise<void> {
    const activeTasks = (await this.tasks.find(tx, { requestIds: [request.id] })).length;
    await this.requests.capacity(tx, request, activeTasks);
    this.requests.scaleDown(request, { from: activeTasks, to: instancesOf(request), acknowledged });
  }

  async checkDeploy(
    tx: Queryable,
    deploy: Deploy,
    request: Request,
    now: number,
    { isStored = false } = {},
  ): Promise<void> {
    const freeze = await this.freezes.active(tx);
    const { settings } = this;
    const minimumPriorityLevel = freeze?.minimumPriorityLevel;
    const uploadBuckets = uploadBucketsOf(settings, { name: request.group });
    const mayAskHost = (host: string): boolean => this.asker.mayName(host);
    const context = { request, settings, minimumPriorityLevel, uploadBuckets, mayAskHost, isStored, now };
    const errors = validateDeploy(deploy, context);
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_DEPLOY', errors);
    const unsupported = unsupportedDeployErrors(this.driver, deploy, request.group);
    const [first] = unsupported;
    if (first) throw new SchedulerError('NOT_SUPPORTED', first.message, { errors: unsupported });
  }

  /** Room in the group of the request for the deploy and, if the deploy changes the stored one, for the request. */
  async room(tx: Queryable, deploy: Deploy, request: Request, { request: former }: StoredRequest): Promise<void> {
    const bytes = recordBytes(deploy) + (request === former ? 0 : recordBytes(request));
    const problem = await this.quotas.bytesProblem(tx, 'deploy', { request, former }, { bytes });
    if (problem) throw SchedulerError.invalid('INVALID_DEPLOY', [problem]);
  }

  /** Asks the cluster, so not in a transaction. */
  async refuseUsers(deploy: Deploy): Promise<void> {
    const unsupported = await refusedContainerErrors(this.driver, deploy);
    const [first] = unsupported;
    if (first) throw new SchedulerError('NOT_SUPPORTED', first.message, { errors: unsupported });
    const errors = await refusedUserErrors(this.driver, deploy);
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_DEPLOY', errors);
  }

  /** An id for a deploy that names none, where the service is set to make them up; else none, which is then refused. */
  newDeployId(): string {
    if (!this.settings.createDeployIds) return '';
    return randomBytes(this.settings.deployIdLength).toString('hex').slice(0, this.settings.deployIdLength);
  }
}

/** Makes errors of a request that is a member of the body name their field by its path in the body. */
export const tellBelow =
  (field: string) =>
  (cause: unknown): never => {
    if (!(cause instanceof SchedulerError) || cause.errors.length === 0) throw cause;
    throw SchedulerError.invalid(
      'INVALID_REQUEST',
      cause.errors.map((error) => errorBelow(`${field}.`, error)),
    );
  };
