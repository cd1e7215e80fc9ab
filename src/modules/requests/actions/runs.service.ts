import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../../cluster/cluster-driver.js';
import type { TimeRange } from '../../../core/authorization/index.js';
import { textProblems } from '../../../core/launch/index.js';
import type { Resources } from '../../../core/model/deploy.js';
import type { PendingRequestParent, RequestParent, RunNowRequest } from '../../../core/model/request.js';
import type { PendingRequest, TaskId } from '../../../core/model/task.js';
import type { Deploy } from '../../../core/model/deploy.js';
import {
  countsRuns,
  decideRun,
  type EarlierRun,
  type RunFacts,
  runProblems,
  runOptions,
} from '../../../core/requests/run-now.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { SharedTransactions, type CallOutcome } from '../../../platform/database/shared-transactions.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { Caller } from '../../../platform/http/caller.js';
import { uploadBucketsOf } from '../../../platform/settings/log-store-settings.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { Rows } from '../../../rows.js';
import { refusedRunUserErrors, unsupportedRunErrors } from '../driver-refusals.js';
import { deployInUse } from '../request-actions.service.js';
import { shownPendingRequest } from '../request-parents.service.js';
import { RequestQuotas } from '../request-quotas.service.js';
import { RequestReads } from '../request-reads.service.js';
import type { StoredRequest } from '../request.repository.js';

/** A run that a caller asks for. */
interface RunWish {
  run: RunNowRequest;
  user: string | undefined;
  /** Its run id must be one that no run of the request has. */
  newRunId: boolean;
}

/** Options of a call that asks for a run. */
interface RunOptions {
  /** The answer has only the request, its state and the pending request. */
  minimal?: boolean;
  newRunId?: boolean;
}

interface AcceptedRun {
  answer: PendingRequestParent;
  /** The surroundings of the request after the run was accepted: read once for all that were accepted together. */
  around: () => Promise<RequestParent | undefined>;
}

/** Runs of SCHEDULED and ON_DEMAND requests that a caller asks for. */
@Injectable()
export class Runs {
  private readonly together: SharedTransactions<RunWish, AcceptedRun>;
  /** Put together once: there are hundreds of settings. */
  private readonly limits: Parameters<typeof runProblems>[2];

  constructor(
    private readonly rows: Rows,
    private readonly reads: RequestReads,
    private readonly quotas: RequestQuotas,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    private readonly wake: Wake,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.limits = { ...settings.cluster, ...settings, uploadBuckets: uploadBucketsOf(settings, 'ALL') };
    this.together = new SharedTransactions(database, (tx, id, wishes) => this.queueAll(tx, id, wishes));
  }

  async run(
    id: string,
    run: RunNowRequest,
    { minimal = false, newRunId = false }: RunOptions,
    caller: Caller,
  ): Promise<PendingRequestParent> {
    const errors = runProblems(run, this.clock.now(), this.limits);
    errors.push(...unsupportedRunErrors(this.driver, run), ...(await refusedRunUserErrors(this.driver, run)));
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_REQUEST', errors);
    const { answer, around } = await this.together.add(id, { run, user: caller.email, newRunId });
    this.wake.signalOf([id], 'scheduler');
    return minimal ? answer : { ...(await around()), ...answer };
  }

  private async queueAll(
    tx: Transaction,
    requestId: string,
    wishes: readonly RunWish[],
  ): Promise<CallOutcome<AcceptedRun>[]> {
    const stored = await this.rows.requests.lock(tx, requestId);
    if (!stored) return wishes.map(() => ({ refusal: SchedulerError.requestNotFound(requestId) }));
    const { deploy, ...facts } = await this.facts(tx, stored, wishes);
    const { room, refusal } = await this.quotas.roomForRuns(tx, stored.request);
    let accepted = 0;
    const now = this.clock.now();
    const timesAsked = new Map<string, number>();
    const earlierRuns = await this.earlierRuns(tx, requestId, wishes);
    const decided = wishes.map(({ run, user, newRunId }) => {
      const errors = deploy
        ? [...unsupportedRunErrors(this.driver, run, deploy), ...textProblems(deploy, runOptions(run))]
        : [];
      if (errors.length > 0) return { refusal: SchedulerError.invalid('INVALID_REQUEST', errors) };
      const decision = decideRun(run, facts, newRunId ? earlierRuns.get(run.runId ?? '') : undefined);
      if (decision.kind === 'refuse') {
        return { refusal: new SchedulerError(decision.code, decision.message, { errors: decision.errors }) };
      }
      if (accepted >= room) return { refusal: new SchedulerError('TOO_MANY_RUNS', refusal) };
      accepted += 1;
      if (decision.pendingType === 'ONEOFF') facts.waitingTasks += 1;
      // A run is known by its time and its id: two calls with one id are two runs.
      const earlier = timesAsked.get(run.runId ?? '') ?? 0;
      if (run.runId !== undefined) {
        timesAsked.set(run.runId, earlier + 1);
        earlierRuns.set(run.runId, {});
      }
      return pendingRequest(run, { requestId, ...decision, timestamp: now + earlier, user });
    });
    const isWanted = (one: (typeof decided)[number]): one is PendingRequest => !('refusal' in one);
    const queued = await this.rows.pendingRequests.enqueueAll(tx, decided.filter(isWanted));
    const { request, state } = stored;
    const around = this.around(requestId);
    return decided.map((one) => {
      if (!isWanted(one)) return one;
      if (queued.has(one)) {
        return { value: { answer: { request, state, pendingRequest: shownPendingRequest(one) }, around } };
      }
      const message = `Run '${one.runId}' of request '${requestId}' waits already`;
      return { refusal: new SchedulerError('ALREADY_PENDING', message) };
    });
  }

  /** The task that carries out a run, or did: the newest one if the run was tried again. */
  async findTask(id: string, runId: string, past: TimeRange): Promise<TaskId> {
    const found = await this.rows.taskSearch.newestOfRun(this.database.pool, { requestId: id, runId }, past);
    if (!found) throw new SchedulerError('RUN_NOT_FOUND', `No task of request '${id}' carries out run '${runId}'`);
    return found.taskId;
  }

  /** By run id, of the request as it is there now: what former requests of this id ran may be the secret of others. */
  private async earlierRuns(
    tx: Transaction,
    requestId: string,
    wishes: readonly RunWish[],
  ): Promise<Map<string, EarlierRun>> {
    const found = new Map<string, EarlierRun>();
    const asked = wishes.flatMap(({ run: { runId }, newRunId }) => (newRunId && runId !== undefined ? runId : []));
    if (asked.length === 0) return found;
    const ended = await this.rows.requestAccess.findEnded(tx, [requestId]);
    for (const runId of new Set(asked)) {
      const run = { requestId, runId };
      const task = await this.rows.taskSearch.newestOfRun(tx, run, { after: ended.at(-1)?.endedAt });
      if (task) found.set(runId, { taskId: task.taskId.id, state: task.lastTaskState });
      else if ((await this.rows.pendingTasks.ofRun(tx, run)) ?? (await this.rows.pendingRequests.hasRun(tx, run)))
        found.set(runId, {});
    }
    return found;
  }

  /** Only what a decision may depend on: others wait for the row meanwhile. */
  private async facts(
    tx: Transaction,
    stored: StoredRequest,
    wishes: readonly RunWish[],
  ): Promise<RunFacts & { deploy?: Deploy }> {
    const { request, state } = stored;
    const deployId = deployInUse(stored);
    const { id: requestId } = request;
    const counts = countsRuns(request)
      ? (await this.rows.tasks.runCounts(tx, [requestId])).get(requestId)!
      : { active: 0, waiting: 0 };
    const looksAtDeploy =
      deployId !== undefined && wishes.some(({ run }) => run.resources ?? run.envOverrides ?? run.commandLineArgs);
    const found = looksAtDeploy ? await this.rows.deploys.find(tx, { requestId, deployId }) : undefined;
    const deploy = found?.deploy;
    const numPorts = deploy?.resources?.numPorts ?? 0;
    return {
      deploy,
      request,
      state,
      deployInUse: deployId,
      activeTasks: counts.active,
      waitingTasks: counts.waiting,
      numPorts,
    };
  }

  /** Undefined if the surroundings cannot be read: the answer then still says what was accepted. */
  private around(id: string): AcceptedRun['around'] {
    let reading: Promise<RequestParent | undefined> | undefined;
    return () => (reading ??= this.reads.find(id).catch(() => undefined));
  }
}

type QueuedRun = Pick<PendingRequest, 'requestId' | 'deployId' | 'pendingType' | 'timestamp' | 'user'>;

const pendingRequest = (run: RunNowRequest, queued: QueuedRun): PendingRequest => ({
  requestId: queued.requestId,
  deployId: queued.deployId,
  timestamp: queued.timestamp,
  askedAt: queued.timestamp,
  user: queued.user,
  pendingType: queued.pendingType,
  trigger: 'RUN_NOW',
  scheduledAt: run.runAt ?? queued.timestamp,
  ...runOptions(run),
  runId: run.runId ?? randomUUID(),
  message: run.message,
  resources: run.resources && withPortsAndDisk(run.resources),
});

const withPortsAndDisk = (resources: Resources): Resources => ({
  ...resources,
  numPorts: resources.numPorts ?? 0,
  diskMb: resources.diskMb ?? 0,
});
