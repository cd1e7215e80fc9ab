import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../../cluster/cluster-driver.js';
import type { Past } from '../../../core/authorization/index.js';
import type { Resources } from '../../../core/model/deploy.js';
import type { PendingRequestParent, RunNowRequest } from '../../../core/model/request.js';
import type { PendingRequest, TaskId } from '../../../core/model/task.js';
import { decideRun, type RunFacts, runProblems, runWishes } from '../../../core/requests/run-now.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { Caller } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { DeployRepository } from '../../deploys/deploy.repository.js';
import { refusedRunUserErrors, unsupportedRunErrors } from '../../deploys/deploy-support.js';
import { TaskSearchRepository } from '../../history/task-search.repository.js';
import { PendingRequestRepository } from '../../tasks/pending-request.repository.js';
import { TaskRepository } from '../../tasks/task.repository.js';
import { RequestActions, type LockedRequest } from '../request-actions.service.js';
import { RequestParents, shownPendingRequest } from '../request-parents.service.js';

/** Runs of SCHEDULED and ON_DEMAND requests that a caller asks for. */
@Injectable()
export class Runs {
  constructor(
    private readonly actions: RequestActions,
    private readonly deploys: DeployRepository,
    private readonly queue: PendingRequestRepository,
    private readonly tasks: TaskRepository,
    private readonly parents: RequestParents,
    private readonly searches: TaskSearchRepository,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** `minimal`: the answer has only the request, its state and the pending request. */
  async run(id: string, run: RunNowRequest, minimal: boolean, caller: Caller): Promise<PendingRequestParent> {
    const errors = runProblems(run, this.clock.now(), { ...this.settings.cluster, ...this.settings });
    errors.push(...unsupportedRunErrors(this.driver, run), ...(await refusedRunUserErrors(this.driver, run)));
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_REQUEST', errors);
    return this.actions.perform(id, ['scheduler'], async (tx, locked) => {
      const decision = decideRun(run, await this.facts(tx, locked));
      if (decision.kind === 'refuse') {
        throw new SchedulerError(decision.code, decision.message, { errors: decision.errors });
      }
      const pending = pendingRequest(run, { requestId: id, ...decision, timestamp: locked.now, user: caller.email });
      if ((await this.queue.enqueue(tx, pending)) === 'EXISTED') {
        throw new SchedulerError('ALREADY_PENDING', `Run '${pending.runId}' of request '${id}' waits already`);
      }
      const pendingRequestMember = { pendingRequest: shownPendingRequest(pending) };
      const { request, state } = locked.stored;
      if (minimal) return { request, state, ...pendingRequestMember };
      const [parent] = await this.parents.load(tx, [id], { full: true });
      return { ...parent!, ...pendingRequestMember };
    });
  }

  /** The task that carries out a run, or did: the newest one if the run was tried again. */
  async findTask(id: string, runId: string, past: Past): Promise<TaskId> {
    const found = await this.searches.newestOfRun(this.database.manager, id, runId, past);
    if (!found) throw new SchedulerError('RUN_NOT_FOUND', `No task of request '${id}' carries out run '${runId}'`);
    return found.taskId;
  }

  private async facts(tx: EntityManager, { facts, stored }: LockedRequest): Promise<RunFacts> {
    const requestId = stored.request.id;
    const { active: activeTasks, waiting: waitingTasks } = await this.tasks.runCounts(tx, requestId);
    const { deployInUse: deployId } = facts;
    const deploy = deployId === undefined ? undefined : await this.deploys.find(tx, { requestId, deployId });
    const numPorts = deploy?.deploy.resources?.numPorts ?? 0;
    return { ...facts, activeTasks, waitingTasks, numPorts };
  }
}

type Queued = Pick<PendingRequest, 'requestId' | 'deployId' | 'pendingType' | 'timestamp' | 'user'>;

const pendingRequest = (run: RunNowRequest, queued: Queued): PendingRequest => ({
  requestId: queued.requestId,
  deployId: queued.deployId,
  timestamp: queued.timestamp,
  user: queued.user,
  pendingType: queued.pendingType,
  ...runWishes(run),
  runId: run.runId ?? randomUUID(),
  message: run.message,
  resources: run.resources && withPortsAndDisk(run.resources),
});

const withPortsAndDisk = (resources: Resources): Resources => ({
  ...resources,
  numPorts: resources.numPorts ?? 0,
  diskMb: resources.diskMb ?? 0,
});
