import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { CLUSTER_DRIVER, type ClusterDriver, type MachineSnapshot } from '../../cluster/cluster-driver.js';
import { groupBy } from '../../core/group-by.js';
import type { PendingTask } from '../../core/model/task.js';
import type {
  DeployView,
  MachineView,
  PlacedTask,
  PlacementSnapshot,
  RequestView,
} from '../../core/placement/index.js';
import { DeployStore, type DeployKey } from '../../modules/deploys/deploy-store.service.js';
import { RequestStore } from '../../modules/requests/request-store.service.js';
import { Machines, type StoredSlave } from '../../modules/slaves/machines.service.js';
import { LiveTasks, type LiveTask } from '../../modules/tasks/live-tasks.service.js';
import { Database } from '../../platform/database/database.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { DeployCountsStore } from '../deploy-counts.service.js';
import { RecentTasks } from './recent-tasks.service.js';

/** Most due tasks looked at in one pass; the longest due first. */
const maxDue = 20_000;

export interface LoadedPlacement {
  snapshot: PlacementSnapshot;
  slaves: readonly StoredSlave[];
  /** Of the requests, by id, as of the snapshot. */
  versions: ReadonlyMap<string, number>;
}

interface MachineUse {
  slave_id: string;
  cpus: number;
  memory_mb: number;
  disk_mb: number;
  ports: number[];
}

/** Reads what a round of placement decides on. Staleness is harmless: the row locks decide when it is written. */
@Injectable()
export class PlacementLoader {
  constructor(
    private readonly db: Database,
    private readonly requests: RequestStore,
    private readonly deploys: DeployStore,
    private readonly counts: DeployCountsStore,
    private readonly tasks: LiveTasks,
    private readonly machines: Machines,
    private readonly recent: RecentTasks,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** undefined: nothing is due. */
  async load(now: number): Promise<LoadedPlacement | undefined> {
    const due = await this.due(this.db.manager, now);
    return due.length === 0 ? undefined : this.loadFor(due, now);
  }

  async nextDueAfter(now: number): Promise<number | undefined> {
    const [next] = await rows<{ at: Date | null }>(
      this.db.manager,
      'SELECT min(next_run_at) AS at FROM pending_task WHERE next_run_at > $1',
      [new Date(now)],
    );
    return toMillis(next?.at);
  }

  async loadFor(due: readonly PendingTask[], now: number): Promise<LoadedPlacement> {
    const tx = this.db.manager;
    const ids = [...new Set(due.map((task) => task.pendingTaskId.requestId))];
    const keys = [
      ...new Map(
        due.map(({ pendingTaskId }) => [`${pendingTaskId.requestId}-${pendingTaskId.deployId}`, pendingTaskId]),
      ).values(),
    ];
    // Each on a connection of its own: the answer is wanted in milliseconds.
    const [stored, pending, deploys, tasks, waiting, slaves, uses] = await Promise.all([
      this.requests.findMany(tx, ids),
      this.deploys.findPending(tx, ids),
      this.deployViews(tx, keys),
      this.tasks.find(tx, { requestIds: ids }),
      this.pendingCounts(tx, ids),
      this.machines.list(tx),
      this.machineUses(tx),
    ]);
    const tasksOf = groupBy(tasks, (task) => task.taskId.requestId);
    const pendingOf = new Map(pending.map((deploy) => [deploy.requestId, deploy]));
    const requests = new Map(
      stored.map(({ request, state, activeDeployId, pendingDeployId }): [string, RequestView] => [
        request.id,
        {
          request,
          state,
          activeDeployId,
          pendingDeploy: pendingDeployId ? pendingOf.get(request.id) : undefined,
          tasks: (tasksOf.get(request.id) ?? []).map(placedTask),
          pendingTasks: waiting.get(request.id) ?? 0,
        },
      ]),
    );
    return {
      snapshot: {
        due,
        requests,
        deploys,
        machines: this.machineViews(slaves, uses, now),
        takenTaskIds: this.recent.usedIds(now),
      },
      slaves,
      versions: new Map(stored.map(({ request, version }) => [request.id, version])),
    };
  }

  private async due(tx: EntityManager, now: number): Promise<PendingTask[]> {
    const found = await rows<{ document: PendingTask }>(
      tx,
      `SELECT document FROM pending_task WHERE next_run_at <= $1 AND NOT delete_requested ORDER BY next_run_at, id LIMIT $2`,
      [new Date(now), maxDue],
    );
    return found.map((row) => row.document);
  }

  private async deployViews(tx: EntityManager, keys: readonly DeployKey[]): Promise<Map<string, DeployView>> {
    const preemptible = Object.keys(this.settings.preemptibleTasksOnlyMachineAttributes).length > 0;
    const [deploys, counts] = await Promise.all([
      this.deploys.findMany(tx, keys),
      preemptible ? this.counts.find(tx, keys) : undefined,
    ]);
    return new Map(
      [...deploys].map(([key, { deploy }]) => [
        key,
        { deploy, averageRuntimeMillis: counts?.get(key)?.averageRuntimeMillis },
      ]),
    );
  }

  private async pendingCounts(tx: EntityManager, requestIds: readonly string[]): Promise<Map<string, number>> {
    const found = await rows<{ request_id: string; count: number }>(
      tx,
      'SELECT request_id, count(*)::integer AS count FROM pending_task WHERE request_id = ANY ($1) GROUP BY request_id',
      [requestIds],
    );
    return new Map(found.map((row) => [row.request_id, row.count]));
  }

  /** What active tasks take from each machine. */
  private machineUses(tx: EntityManager): Promise<MachineUse[]> {
    return rows<MachineUse>(
      tx,
      `SELECT slave_id, sum(cpus) AS cpus, sum(memory_mb) AS memory_mb, sum(disk_mb) AS disk_mb,
         coalesce(array_agg(port) FILTER (WHERE port IS NOT NULL), '{}') AS ports
       FROM (SELECT slave_id, port,
           CASE WHEN coalesce(position, 1) = 1 THEN cpus ELSE 0 END AS cpus,
           CASE WHEN coalesce(position, 1) = 1 THEN memory_mb ELSE 0 END AS memory_mb,
           CASE WHEN coalesce(position, 1) = 1 THEN disk_mb ELSE 0 END AS disk_mb
         FROM task LEFT JOIN LATERAL unnest(ports) WITH ORDINALITY AS p (port, position) ON true
         WHERE ended_at IS NULL) used
       GROUP BY slave_id`,
    );
  }

  private machineViews(slaves: readonly StoredSlave[], uses: readonly MachineUse[], now: number): MachineView[] {
    const storedById = new Map(slaves.map((slave) => [slave.id, slave]));
    const useById = new Map(uses.map((use) => [use.slave_id, use]));
    return this.driver.machines().map((machine) => {
      const stored = storedById.get(machine.slaveId);
      const use = useById.get(machine.slaveId);
      return {
        ...machine,
        // A machine that began anew is not known before its record says so.
        state: stored?.incarnation === machine.incarnation ? stored.currentState.state : undefined,
        rackState: stored?.rackState ?? 'ACTIVE',
        used: { cpus: use?.cpus ?? 0, memoryMb: use?.memory_mb ?? 0, diskMb: use?.disk_mb ?? 0 },
        usedPorts: this.usedPorts(machine, use, now),
      };
    });
  }

  private usedPorts(machine: MachineSnapshot, use: MachineUse | undefined, now: number): number[] {
    return [...(use?.ports ?? []), ...machine.portsInUse, ...this.recent.takenPorts(machine.slaveId, now)];
  }
}

const placedTask = (task: LiveTask): PlacedTask => ({
  taskId: task.taskId,
  slaveId: task.slaveId,
  rackId: task.rackId,
  pendingType: task.pendingType,
  actionId: task.actionId,
  cleaning: task.cleaning !== undefined,
  killed: task.killed,
});
