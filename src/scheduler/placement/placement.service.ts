import { Inject, Injectable, Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { planLaunch, taskRecord, type LaunchInput } from '../../core/launch/index.js';
import {
  executorResources,
  explainPlacement,
  placeTasks,
  taskResources,
  type PlacementOutcome,
  type PlacementRules,
} from '../../core/placement/index.js';
import type { PendingTask } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { LaunchDispatcher } from '../dispatch/launch-dispatcher.service.js';
import { launchRules, placementRules } from '../rules.js';
import { PlacementLoader, type LoadedPlacement } from './placement-loader.service.js';
import { PlacementWriter, type PlannedTask } from './placement-writer.service.js';
import { RecentTasks } from './recent-tasks.service.js';

/** Faster than larger ones, and an API call on the same request waits milliseconds. */
const tasksPerTransaction = 500;
/** The event loop also renews the lease, answers the API and takes status updates. */
const turnMillis = 10;

type Placed = Extract<PlacementOutcome, { kind: 'place' }>;

/** Puts due pending tasks on machines. */
@Injectable()
export class PlacementService {
  private readonly log = new Logger(PlacementService.name);

  constructor(
    private readonly db: Database,
    private readonly loader: PlacementLoader,
    private readonly writer: PlacementWriter,
    private readonly recent: RecentTasks,
    private readonly launches: LaunchDispatcher,
    private readonly wake: Wake,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async runOnce(now: number): Promise<void> {
    const loaded = await this.loader.load(now);
    if (!loaded) return;
    const rules = placementRules(this.settings, loaded.slaves);
    const placed: Placed[] = [];
    const obsolete: PendingTask[] = [];
    let turnEndsAt = performance.now() + turnMillis;
    for (const outcome of placeTasks(loaded.snapshot, rules, now, now)) {
      if (outcome.kind === 'place') placed.push(outcome);
      if (outcome.kind === 'obsolete') obsolete.push(outcome.pending);
      if (placed.length === tasksPerTransaction) await this.launch(placed.splice(0), loaded, rules);
      if (performance.now() < turnEndsAt) continue;
      await nextTurn();
      turnEndsAt = performance.now() + turnMillis;
    }
    if (placed.length > 0) await this.launch(placed, loaded, rules);
    if (obsolete.length > 0) await this.remove(obsolete, loaded);
  }

  /** When the next pending task is due whose time has not come. */
  nextDueAfter(now: number): Promise<number | undefined> {
    return this.loader.nextDueAfter(now);
  }

  /** Why a pending task is still pending: the first reason against each machine. */
  async explain(pending: PendingTask): Promise<ReturnType<typeof explainPlacement>> {
    const { snapshot, slaves } = await this.loader.loadFor([pending], this.clock.now());
    return explainPlacement(pending, snapshot, placementRules(this.settings, slaves));
  }

  private async launch(placed: readonly Placed[], loaded: LoadedPlacement, rules: PlacementRules): Promise<void> {
    const now = this.clock.now();
    const planned = placed.map((outcome) => this.plan(outcome, loaded, rules));
    this.recent.used(
      planned.map(({ task }) => task.taskId.id),
      now,
    );
    const written = await this.db.leaderTransaction((tx) => this.writer.write(tx, planned, now));
    this.launches.send(written.map(({ launch }) => launch));
    this.log.debug(`Placed ${written.length} of ${planned.length} tasks`);
    if (written.length > 0) this.wake.signal('webhooks');
  }

  private plan(
    { pending, request, machine, taskId, ports }: Placed,
    loaded: LoadedPlacement,
    rules: PlacementRules,
  ): PlannedTask {
    const { deploy } = loaded.snapshot.deploys.get(`${taskId.requestId}-${taskId.deployId}`)!;
    const own = taskResources(pending.resources, deploy, rules);
    const executor = executorResources(deploy, rules);
    const needed = {
      cpus: own.cpus + executor.cpus,
      memoryMb: own.memoryMb + executor.memoryMb,
      diskMb: own.diskMb + executor.diskMb,
    };
    const input: LaunchInput = { taskId, place: machine, request, deploy, pending, ports, own, needed };
    const launch = planLaunch(input, launchRules(this.settings));
    return {
      task: taskRecord(input, launch),
      launch,
      host: machine.hostname,
      requestVersion: loaded.versions.get(taskId.requestId)!,
    };
  }

  private remove(obsolete: readonly PendingTask[], { versions }: LoadedPlacement): Promise<void> {
    const listed = obsolete.map(({ pendingTaskId: { id, requestId } }) => ({
      pendingTaskId: id,
      requestId,
      requestVersion: versions.get(requestId),
    }));
    return this.db.leaderTransaction((tx) => this.writer.removeObsolete(tx, listed));
  }
}
