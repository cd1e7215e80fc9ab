import { Injectable } from '@nestjs/common';
import {
  balanceIdText,
  type DeployBalance,
  type DeployStep,
  type DeploySnapshot,
  withBalance,
} from '../../core/deploys/index.js';
import {
  type BalancedTask,
  type BalancerChange,
  type BalancerRecords,
  requestIdText,
} from '../../core/load-balancer/index.js';
import { type Deploy, deployKeyText } from '../../core/model/deploy.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { TaskId } from '../../core/model/task.js';
import type { Transaction } from '../../platform/database/transaction.js';
import type { RecordKind } from '../tasks/balancing/load-balancer-record.repository.js';
import { Rows } from '../../rows.js';
import { LoadBalancer } from '../../platform/load-balancer/load-balancer.js';
import { type LiveTask, TaskRepository } from '../tasks/task.repository.js';
import { DeployRepository, type StoredPendingDeploy } from './deploy.repository.js';

/** Reads what a change of the load balancer is made of. */
@Injectable()
export class BalancerChanges {
  constructor(
    private readonly deploys: DeployRepository,
    private readonly tasks: TaskRepository,
  ) {}

  /** undefined: the request or the deploy that describes the service is gone. */
  async load(tx: Transaction, view: DeploySnapshot, balance: DeployBalance): Promise<BalancerChange | undefined> {
    const { added, removed, isRevert } = balance;
    const taskIds = [...added, ...removed];
    const active = { requestId: view.marker.requestId, deployId: view.activeDeployId ?? '' };
    const found = await this.deploys.findMany(tx, distinct([...taskIds, active]));
    const deployOf = (key: { requestId: string; deployId: string }) => found.get(deployKeyText(key))?.deploy;
    // A service that takes old tasks back is that of the old deploy again, and of the request as it was.
    const request = isRevert ? view.request : (view.updatedRequest ?? view.request);
    const deploy = isRevert ? deployOf(active) : view.deploy;
    if (!request || !deploy) return undefined;
    const live = await this.tasks.find(tx, { taskIds: taskIds.map(({ id }) => id), includeEnded: true });
    const byId = new Map(live.map((task) => [task.taskId.id, task]));
    const balanced = (ids: readonly TaskId[]) =>
      ids.flatMap((taskId) => balancedTask(byId.get(taskId.id), deployOf(taskId)) ?? []);
    return { request, deploy, add: balanced(added), remove: balanced(removed) };
  }
}

const distinct = (keys: readonly { requestId: string; deployId: string }[]) => [
  ...new Map(keys.map((key) => [deployKeyText(key), key])).values(),
];

const balancedTask = (task: LiveTask | undefined, deploy: Deploy | undefined): BalancedTask | undefined =>
  task && deploy && { taskId: task.taskId, host: task.host, rackId: task.rackId, ports: task.ports, deploy };

type BalanceStep = Extract<DeployStep, { kind: 'balance' }>;

/** A call of the load balancer for a deploy, written down already. */
export interface BalancerJob {
  call: BalanceStep['call'];
  balance: DeployBalance;
  /** Only for ENQUEUE. */
  change?: BalancerChange;
}

/**
 * The load balancer's part of a deploy: what it is about to be asked is written down first, then it is asked outside any
 * transaction, then its answer is written. A crash in between does no harm: the same is asked again under the same id.
 */
@Injectable()
export class DeployBalancing {
  constructor(
    private readonly balancer: LoadBalancer,
    private readonly rows: Rows,
    private readonly changes: BalancerChanges,
  ) {}

  get isEnabled(): boolean {
    return this.balancer.enabled;
  }

  async prepare(
    tx: Transaction,
    pending: StoredPendingDeploy,
    view: DeploySnapshot,
    { call, balance, putBack, state, progress = pending.progress, ending = pending.ending }: BalanceStep,
  ): Promise<BalancerJob> {
    const next = { ...pending, state, balance, ending, progress: withBalance(progress, balance) };
    await this.rows.deploys.changePending(tx, next);
    const isNew = !pending.balance || balanceIdText(pending.balance) !== balanceIdText(balance);
    if (isNew) await this.announce(tx, balance, putBack);
    return { call, balance, change: call === 'ENQUEUE' ? await this.changes.load(tx, view, balance) : undefined };
  }

  /** Makes the call; what goes wrong is a state of the answer. */
  async ask({ call, balance, change }: BalancerJob): Promise<LoadBalancerUpdate> {
    const id = balance.update.loadBalancerRequestId;
    if (call === 'STATE') return this.balancer.state(id);
    if (call === 'CANCEL') return this.balancer.cancel(id);
    if (change) return this.balancer.enqueue(id, change);
    return { ...balance.update, loadBalancerState: 'FAILED', message: 'The deploy that describes the service is gone' };
  }

  /** false: the deploy is not waiting for this answer any more. The request's row is locked in `tx`. */
  async store(tx: Transaction, requestId: string, job: BalancerJob, answer: LoadBalancerUpdate): Promise<boolean> {
    const [pending] = await this.rows.deploys.findPending(tx, [requestId]);
    if (!pending?.balance || balanceIdText(pending.balance) !== balanceIdText(job.balance)) return false;
    const balance = { ...pending.balance, update: answer };
    await this.copy(tx, balance, answer);
    const next = { ...pending, balance, progress: withBalance(pending.progress, balance) };
    // It is asked again and again while it works: only another answer is worth telling.
    if (answer.loadBalancerState === pending.balance.update.loadBalancerState)
      await this.rows.deploys.savePending(tx, next);
    else await this.rows.deploys.changePending(tx, next);
    return true;
  }

  /** The load balancer was to remove these tasks and did not: they are as they were. */
  async keep(tx: Transaction, taskIds: readonly TaskId[]): Promise<void> {
    const ids = taskIds.map(({ id }) => id);
    const found = await this.rows.loadBalancerRecords.find(tx, ids);
    await this.rows.loadBalancerRecords.forget(tx, ids);
    for (const [id, { add }] of found) if (add) await this.rows.loadBalancerRecords.save(tx, [id], 'ADD', add);
  }

  /** Each task's own story says what is about to happen to it. One that never came in has nothing to leave. */
  private async announce(
    tx: Transaction,
    { update, added, removed, isRevert }: DeployBalance,
    putBack: readonly TaskId[],
  ): Promise<void> {
    // Those that are handed over were healthy; they are not checked any more.
    if (!isRevert) await this.rows.taskHealthchecks.finish(tx, ids(added));
    await this.rows.loadBalancerRecords.forget(tx, ids(putBack));
    await this.rows.loadBalancerRecords.save(tx, ids(added), 'ADD', update);
    const found = await this.rows.loadBalancerRecords.find(tx, ids(removed));
    const cameIn = ids(removed).filter((id) => hasComeIn(found.get(id)));
    await this.rows.loadBalancerRecords.save(tx, cameIn, 'REMOVE', update);
  }

  /** The answer is that of each record made for this change; records made since are left alone. */
  private async copy(tx: Transaction, { added, removed }: DeployBalance, answer: LoadBalancerUpdate): Promise<void> {
    const found = await this.rows.loadBalancerRecords.find(tx, ids([...added, ...removed]));
    const idText = requestIdText(answer.loadBalancerRequestId);
    const ofThisChange = (
      taskIds: readonly TaskId[],
      pick: (records: BalancerRecords) => LoadBalancerUpdate | undefined,
    ) =>
      ids(taskIds).filter((id) => {
        const update = pick(found.get(id)!);
        return update !== undefined && requestIdText(update.loadBalancerRequestId) === idText;
      });
    const save = (kind: RecordKind, taskIds: string[]) => this.rows.loadBalancerRecords.save(tx, taskIds, kind, answer);
    await save(
      'ADD',
      ofThisChange(added, ({ add }) => add),
    );
    await save(
      'REMOVE',
      ofThisChange(removed, ({ remove }) => remove),
    );
  }
}

const ids = (taskIds: readonly TaskId[]): string[] => taskIds.map(({ id }) => id);

const hasComeIn = (records: BalancerRecords | undefined): boolean =>
  ['SUCCESS', 'WAITING', 'CANCELING'].includes(records?.add?.loadBalancerState ?? '');
