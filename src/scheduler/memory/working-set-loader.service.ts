import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type MachineSnapshot } from '../../cluster/cluster-driver.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { PendingType } from '../../core/model/enums.js';
import type { PendingTask } from '../../core/model/task.js';
import type { DeployView } from '../../core/placement/index.js';
import type { HeldMachine, HeldRequest, HeldTask } from '../../core/working-set/index.js';
import { DeployStore } from '../../modules/deploys/deploy-store.service.js';
import { RequestStore } from '../../modules/requests/request-store.service.js';
import type { StoredSlave } from '../../modules/slaves/machines.service.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { recordedMachine } from './recorded-machine.js';
import { DeployCountsStore } from '../deploy-counts.service.js';
import { RecentTasks } from '../placement/recent-tasks.service.js';

/** A request with its tasks and pending tasks; without `request`: what is left of one that is gone. */
export interface LoadedRequest {
  id: string;
  request: HeldRequest | undefined;
  tasks: HeldTask[];
  pendingTasks: PendingTask[];
}

interface TaskRow {
  task_id: string;
  request_id: string;
  deploy_id: string;
  slave_id: string;
  rack_id: string;
  pending_type: PendingType;
  action_id: string | null;
  cpus: number;
  memory_mb: number;
  disk_mb: number;
  ports: number[];
  cleaning: boolean;
  killed: boolean;
}

/** Reads the rows that the working set is made of. Staleness is harmless: row locks decide when something is written. */
@Injectable()
export class WorkingSetLoader {
  constructor(
    private readonly db: Database,
    private readonly requests: RequestStore,
    private readonly deploys: DeployStore,
    private readonly counts: DeployCountsStore,
    private readonly recent: RecentTasks,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** The given requests, or all there are; ids of which nothing is left come back empty. */
  async load(ids?: readonly string[]): Promise<LoadedRequest[]> {
    const tx = this.db.manager;
    const filter = ids ?? null;
    // Each on a connection of its own: the answer is wanted in milliseconds.
    const [stored, pendingDeploys, deploys, tasks, pendingTasks] = await Promise.all([
      ids ? this.requests.findMany(tx, ids) : this.requests.findAll(tx),
      this.deploys.findPending(tx, ids),
      this.deployViews(filter),
      this.tasks('request_id', filter),
      this.pendingTasks(filter),
    ]);
    const loaded = new Map<string, LoadedRequest>();
    const of = (id: string): LoadedRequest => {
      const known = loaded.get(id) ?? { id, request: undefined, tasks: [], pendingTasks: [] };
      loaded.set(id, known);
      return known;
    };
    for (const id of ids ?? []) of(id);
    const pendingOf = new Map(pendingDeploys.map((pending) => [pending.requestId, pending]));
    for (const { request, state, version, activeDeployId, pendingDeployId } of stored) {
      const pending = pendingDeployId === undefined ? undefined : pendingOf.get(request.id);
      of(request.id).request = {
        request,
        state,
        version,
        activeDeployId,
        pendingDeploy: pending && { deployId: pending.deployId, updatedRequest: pending.updatedRequest },
        deploys: deploys.get(request.id) ?? new Map(),
      };
    }
    for (const task of tasks) of(task.requestId).tasks.push(task);
    for (const task of pendingTasks) of(task.pendingTaskId.requestId).pendingTasks.push(task);
    return [...loaded.values()];
  }

  /** Active tasks on the given slaves. */
  tasksOn(slaveIds: readonly string[]): Promise<HeldTask[]> {
    return this.tasks('slave_id', slaveIds);
  }

  /** The machines that the driver shows, as their records describe them. */
  machines(slaves: readonly StoredSlave[]): HeldMachine[] {
    const stored = new Map(slaves.map((slave) => [slave.id, slave]));
    return this.driver.machines().map((machine) => this.machine(machine, stored.get(machine.slaveId)));
  }

  /** What the driver itself says of each machine that its record may not say yet. */
  shown(): Map<string, string> {
    return new Map(
      this.driver
        .machines()
        .map(({ slaveId, hostname, incarnation, portsInUse }) => [
          slaveId,
          `${hostname} ${incarnation} ${portsInUse.join()}`,
        ]),
    );
  }

  private machine(shown: MachineSnapshot, stored: StoredSlave | undefined): HeldMachine {
    const { slaveId, hostname, incarnation, portsInUse } = shown;
    const usedPorts = [...portsInUse, ...this.recent.takenPorts(slaveId)];
    if (!stored || stored.incarnation !== incarnation) return unrecorded(shown, usedPorts);
    // Records may leave out what all host names have in common.
    return { ...recordedMachine(stored), hostname, usedPorts };
  }

  /** Those with one of the ids in a column, or all. */
  private async tasks(column: 'request_id' | 'slave_id', ids: readonly string[] | null): Promise<HeldTask[]> {
    const found = await rows<TaskRow>(
      this.db.manager,
      `SELECT t.task_id, t.request_id, t.deploy_id, t.slave_id, t.rack_id, t.pending_type, t.action_id, t.cpus, t.memory_mb,
         t.disk_mb, t.ports, c.task_id IS NOT NULL AS cleaning, k.task_id IS NOT NULL AS killed
       FROM task t LEFT JOIN task_cleanup c USING (task_id) LEFT JOIN killed_task k USING (task_id)
       WHERE t.ended_at IS NULL AND ($1::text[] IS NULL OR t.${column} = ANY ($1))`,
      [ids],
    );
    return found.map((row) => ({
      taskId: { id: row.task_id, deployId: row.deploy_id },
      requestId: row.request_id,
      slaveId: row.slave_id,
      rackId: row.rack_id,
      pendingType: row.pending_type,
      actionId: row.action_id ?? undefined,
      cleaning: row.cleaning,
      killed: row.killed,
      cpus: row.cpus,
      memoryMb: row.memory_mb,
      diskMb: row.disk_mb,
      ports: row.ports,
    }));
  }

  private async pendingTasks(ids: readonly string[] | null): Promise<PendingTask[]> {
    const found = await rows<{ document: PendingTask }>(
      this.db.manager,
      `SELECT document FROM pending_task WHERE NOT delete_requested AND ($1::text[] IS NULL OR request_id = ANY ($1))`,
      [ids],
    );
    return found.map((row) => row.document);
  }

  /** Deploys in use, and those of pending tasks: by request id, then deploy id. */
  private async deployViews(ids: readonly string[] | null): Promise<Map<string, Map<string, DeployView>>> {
    const found = await rows<{ request_id: string; deploy_id: string; deploy: Deploy }>(
      this.db.manager,
      `SELECT d.request_id, d.deploy_id, d.data->'deploy' AS deploy
       FROM (SELECT id AS request_id, active_deploy_id AS deploy_id FROM request WHERE $1::text[] IS NULL OR id = ANY ($1)
         UNION SELECT id, pending_deploy_id FROM request WHERE $1::text[] IS NULL OR id = ANY ($1)
         UNION SELECT request_id, deploy_id FROM pending_task WHERE $1::text[] IS NULL OR request_id = ANY ($1)) used
       JOIN deploy_history d USING (request_id, deploy_id) WHERE d.data IS NOT NULL`,
      [ids],
    );
    const averages = await this.averageRuntimes(found);
    const views = new Map<string, Map<string, DeployView>>();
    for (const { request_id: requestId, deploy_id: deployId, deploy } of found) {
      const view = { deploy, averageRuntimeMillis: averages.get(`${requestId}-${deployId}`) };
      views.set(requestId, (views.get(requestId) ?? new Map<string, DeployView>()).set(deployId, view));
    }
    return views;
  }

  /** Only where machines are set apart for short runs. */
  private async averageRuntimes(
    keys: readonly { request_id: string; deploy_id: string }[],
  ): Promise<Map<string, number | undefined>> {
    if (Object.keys(this.settings.preemptibleTasksOnlyMachineAttributes).length === 0) return new Map();
    const counts = await this.counts.find(
      this.db.manager,
      keys.map((row) => ({ requestId: row.request_id, deployId: row.deploy_id })),
    );
    return new Map([...counts].map(([key, { averageRuntimeMillis }]) => [key, averageRuntimeMillis]));
  }
}

/** A machine that is new, or began anew, has nothing to offer before its record says so. */
const unrecorded = ({ slaveId, hostname, incarnation }: MachineSnapshot, usedPorts: number[]): HeldMachine => ({
  slaveId,
  hostname,
  incarnation,
  rackId: '',
  attributes: {},
  state: undefined,
  rackState: 'ACTIVE',
  cpus: 0,
  memoryMb: 0,
  diskMb: 0,
  portRanges: [],
  usedPorts,
});
