import { Inject, Injectable } from '@nestjs/common';
import type { MachineState } from '../../core/model/enums.js';
import { findLateTasks, judgeProvisioning } from '../../core/pending-work/index.js';
import type { HostState, ScheduledTasksInfo, State, TaskReconciliationStatistics } from '../../core/model/state.js';
import { isDecommissioning } from '../../core/machines/machine-life.js';
import { andThen } from '../../platform/async.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { neverChanges } from '../../platform/http/json.js';
import { SharedRead } from '../../platform/reads/reads.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { UserDirectory } from '../auth/directory/user-directory.js';
import { Rows } from '../../rows.js';
import { Instances } from '../leadership/instances.service.js';

type FullState = Required<Pick<State, 'overProvisionedRequestIds' | 'underProvisionedRequestIds'>> & State;

const sum = (counts: Map<string, number>, ...states: string[]): number =>
  states.reduce((total, state) => total + (counts.get(state) ?? 0), 0);

/** The service in figures. */
@Injectable()
export class StateService {
  /** The newest state that was computed, shared by all who do not insist on the present one. */
  private latest: FullState | undefined;
  private readonly present = new SharedRead(() => this.computeNow());

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly instances: Instances,
    private readonly directory: UserDirectory,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** With ids when they are asked for, and whenever the state need not be computed for this caller alone. */
  state(skipCache = false, includeRequestIds = false): State | Promise<State> {
    return andThen<FullState, State>(this.full(skipCache), (state) => {
      if (!skipCache || includeRequestIds) return state;
      const { overProvisionedRequestIds: _over, underProvisionedRequestIds: _under, ...figures } = state;
      return figures;
    });
  }

  async provisioned(which: 'over' | 'under', skipCache = false): Promise<string[]> {
    return (await this.full(skipCache))[`${which}ProvisionedRequestIds`];
  }

  async lastReconciliation(): Promise<TaskReconciliationStatistics> {
    const figures = await this.rows.states.lastReconciliation(this.db.pool);
    if (!figures) throw new SchedulerError('NOT_FOUND', 'Tasks have not been reconciled yet');
    return figures;
  }

  /** As they are now: it is one statement. */
  async scheduledTasks(): Promise<ScheduledTasksInfo> {
    const timestamp = this.clock.now();
    const waiting = await this.rows.states.waitingTasks(this.db.pool);
    const found = findLateTasks(waiting, this.settings.deltaAfterWhichTasksAreLateMillis, timestamp);
    return {
      lateTasks: found.late,
      onDemandLateTasks: found.onDemandLate,
      numFutureTasks: found.future,
      maxTaskLag: found.maxLagMillis,
      timestamp,
    };
  }

  private full(skipCache: boolean): FullState | Promise<FullState> {
    const { latest } = this;
    const isFresh = latest && this.clock.now() - latest.generatedAt < this.settings.saveStateEverySeconds * 1000;
    return !skipCache && isFresh ? latest : this.present.ask();
  }

  private async computeNow(): Promise<FullState> {
    // The directory is asked outside of the snapshot, which has to end soon.
    const authDatastoreHealthy = await this.directory.healthy();
    const state = await this.db.snapshot((tx) => this.compute(tx, this.clock.now()));
    this.latest = neverChanges({ ...state, authDatastoreHealthy });
    return this.latest;
  }

  private async compute(tx: Transaction, now: number): Promise<FullState> {
    const tasks = await this.rows.states.taskCounts(tx);
    const requests = await this.rows.requests.countsByState(tx);
    const slaves = machineCounts(await this.rows.slaves.countsByState(tx, 'SLAVE'));
    const racks = machineCounts(await this.rows.slaves.countsByState(tx, 'RACK'));
    const waiting = await this.rows.states.waitingTasks(tx);
    const late = findLateTasks(waiting, this.settings.deltaAfterWhichTasksAreLateMillis, now);
    const deploys = await this.rows.deploys.running(tx);
    const { hostStates, statusDelayMillis } = await this.instances.list(tx);
    const provisioned = await this.rows.states.provisionedRequests(tx);
    const judged = (wanted: 'OVER' | 'UNDER') =>
      provisioned.filter((request) => judgeProvisioning(request) === wanted).map(({ id }) => id);
    const liveness = await this.rows.taskLiveness.counts(tx);
    const over = judged('OVER');
    const under = judged('UNDER');
    const activeRequests = sum(requests, 'ACTIVE', 'DEPLOYING_TO_UNPAUSE');
    const cooldownRequests = sum(requests, 'SYSTEM_COOLDOWN');
    const pausedRequests = sum(requests, 'PAUSED');
    const oldest = (times: number[]): number => times.reduce((most, time) => Math.max(most, now - time), 0);
    return {
      activeTasks: tasks.active,
      launchingTasks: tasks.launching,
      activeRequests,
      cooldownRequests,
      pausedRequests,
      finishedRequests: sum(requests, 'FINISHED'),
      allRequests: activeRequests + cooldownRequests + pausedRequests,
      scheduledTasks: waiting.length,
      pendingRequests: tasks.pendingRequests,
      lbCleanupTasks: tasks.leavingLoadBalancer,
      lbCleanupRequests: tasks.requestsLeavingLoadBalancer,
      cleaningRequests: tasks.cleaningRequests,
      cleaningTasks: tasks.cleaning,
      activeSlaves: slaves.active,
      deadSlaves: slaves.dead,
      decommissioningSlaves: slaves.decommissioning,
      decomissioningSlaves: slaves.decommissioning,
      unknownSlaves: slaves.unknown,
      activeRacks: racks.active,
      deadRacks: racks.dead,
      decommissioningRacks: racks.decommissioning,
      decomissioningRacks: racks.decommissioning,
      unknownRacks: racks.unknown,
      hostStates,
      numDeploys: deploys.length,
      oldestDeploy: oldest(deploys.map(({ marker }) => marker.timestamp)),
      oldestDeployStep: oldest(deploys.map(({ stepSince }) => stepSince)),
      activeDeploys: deploys.map(({ marker }) => marker),
      lateTasks: late.late.length,
      listLateTasks: late.late,
      onDemandLateTasks: late.onDemandLate.length,
      onDemandListLateTasks: late.onDemandLate,
      futureTasks: late.future,
      maxTaskLag: late.maxLagMillis,
      generatedAt: now,
      overProvisionedRequestIds: over,
      underProvisionedRequestIds: under,
      overProvisionedRequests: over.length,
      underProvisionedRequests: under.length,
      minimumPriorityLevel: (await this.rows.priorityFreezes.active(tx))?.minimumPriorityLevel,
      avgStatusUpdateDelayMs: statusDelayMillis,
      ...(liveness.sick > 0 && { unhealthyTasks: liveness.sick }),
      ...(liveness.unjudged > 0 && { unjudgedTasks: liveness.unjudged }),
      lastHeartbeatAt: lastHeard(await this.rows.slaves.lastSeenAt(tx), hostStates, now),
    };
  }
}

/**
 * Time of the newest answer of any machine, as the leader reports it; when it has heard of none, that of the newest
 * record.
 */
function lastHeard(recorded: number | undefined, hosts: readonly HostState[], now: number): number | undefined {
  const ages = hosts.flatMap(({ millisSinceLastOffer }) => millisSinceLastOffer ?? []);
  const heard = ages.map((age) => now - age);
  return [recorded ?? [], heard].flat().reduce<number | undefined>((a, b) => Math.max(a ?? b, b), undefined);
}

/** FROZEN machines count as unknown, as do those that were not seen since the start. */
function machineCounts(states: Map<MachineState, number>) {
  const decommissioning = [...states.keys()].filter(isDecommissioning);
  return {
    active: sum(states, 'ACTIVE'),
    dead: sum(states, 'DEAD'),
    decommissioning: sum(states, ...decommissioning),
    unknown: sum(states, 'MISSING_ON_STARTUP', 'FROZEN'),
  };
}
