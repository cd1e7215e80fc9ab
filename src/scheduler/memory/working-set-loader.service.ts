import { Inject, Injectable } from '@nestjs/common';
import { type DeployKey, deployKeyText } from '../../core/model/deploy.js';
import { CLUSTER_DRIVER, type ClusterDriver, type MachineSnapshot } from '../../cluster/cluster-driver.js';
import type { DeployToPlace } from '../../core/placement/index.js';
import type { HeldMachine, HeldTask } from '../../core/working-set/index.js';
import { Rows } from '../../rows.js';
import type { StoredSlave } from '../../modules/slaves/slave.repository.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { recordedMachine } from './recorded-machine.js';
import { RunTimes } from './run-times.service.js';
import { UnaskedMachines } from './unasked-machines.js';
import { RecentTasks } from '../placement/recent-tasks.service.js';
import type { LoadedRequest } from './loaded-request.js';

/** Reads the rows that the working set is made of. Staleness is harmless: row locks decide when something is written. */
@Injectable()
export class WorkingSetLoader {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly recent: RecentTasks,
    private readonly runTimes: RunTimes,
    private readonly unasked: UnaskedMachines,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * The given requests, or all there are; ids of which nothing is left come back empty. `within`: a transaction that holds their rows, or
   * reads a snapshot.
   */
  async load(ids?: readonly string[], within?: Transaction): Promise<LoadedRequest[]> {
    const tx = within ?? this.db.leaderPool;
    const filter = ids ?? null;
    const reads = [
      () => (ids ? this.rows.requests.findMany(tx, ids) : this.rows.requests.findAll(tx)),
      () => this.rows.deploys.findPending(tx, ids),
      () => this.deployViews(tx, filter),
      () => this.rows.tasks.held(tx, { requestIds: ids }),
      () => this.rows.pendingTasks.wanted(tx, filter),
    ] as const;
    const [stored, pendingDeploys, deploys, tasks, pendingTasks] = await (within ? oneByOne(reads) : together(reads));
    const loaded = new Map<string, LoadedRequest>();
    const of = (id: string): LoadedRequest => {
      const known = loaded.get(id) ?? { id, request: undefined, tasks: [], givenUp: [], pendingTasks: [] };
      loaded.set(id, known);
      return known;
    };
    for (const id of ids ?? []) of(id);
    const pendingOf = new Map(pendingDeploys.map((pending) => [pending.requestId, pending]));
    for (const { request, state, version, scheduleSince, activeDeployId, pendingDeployId, startedRuns } of stored) {
      const pending = pendingDeployId === undefined ? undefined : pendingOf.get(request.id);
      of(request.id).startedRuns = startedRuns;
      of(request.id).request = {
        request,
        state,
        version,
        scheduleSince,
        activeDeployId,
        pendingDeploy: pending && { deployId: pending.deployId, updatedRequest: pending.updatedRequest },
        deploys: deploys.get(request.id) ?? new Map(),
      };
    }
    for (const task of tasks.active) of(task.requestId).tasks.push(task);
    for (const task of tasks.givenUp) of(task.requestId).givenUp.push(task);
    for (const task of pendingTasks) of(task.pendingTaskId.requestId).pendingTasks.push(task);
    this.runTimes.read(loaded.values(), ids === undefined);
    return [...loaded.values()];
  }

  /** Active tasks on the given slaves. */
  async tasksOn(slaveIds: readonly string[]): Promise<HeldTask[]> {
    return (await this.rows.tasks.held(this.db.leaderPool, { slaveIds })).active;
  }

  /** The machines that the driver shows, as their records describe them. */
  machines(slaves: readonly StoredSlave[]): HeldMachine[] {
    const stored = new Map(slaves.map((slave) => [slave.id, slave]));
    const shown = this.driver.machines();
    const returning = this.unasked.among(shown);
    return shown.map((machine) => this.machine(machine, stored.get(machine.slaveId), returning.has(machine.slaveId)));
  }

  /** The driver's newest state of each machine, which its record may not have yet. */
  shown(): Map<string, string> {
    const machines = this.driver.machines();
    const returning = this.unasked.among(machines);
    return new Map(
      machines.map(
        ({ slaveId, hostname, incarnation, portsInUse, closedBecause, isDiskFull = false, runsContainers }) => [
          slaveId,
          `${hostname} ${incarnation} ${portsInUse.join()} ${closedBecause} ${isDiskFull} ${runsContainers} ${returning.has(slaveId)}`,
        ],
      ),
    );
  }

  private machine(shown: MachineSnapshot, stored: StoredSlave | undefined, isReturning: boolean): HeldMachine {
    const { slaveId, hostname, incarnation, portsInUse, closedBecause, isDiskFull, runsContainers } = shown;
    const usedPorts = [...portsInUse, ...this.recent.takenPorts(slaveId)];
    if (!stored || stored.incarnation !== incarnation) return unrecorded(shown, usedPorts);
    // Records may leave out what all host names have in common.
    return {
      ...recordedMachine(stored),
      hostname,
      usedPorts,
      ...(closedBecause !== undefined && { closedBecause }),
      ...(isReturning && { isReturning }),
      ...(isDiskFull && { isDiskFull }),
      ...(runsContainers !== undefined && { runsContainers }),
    };
  }

  /** Deploys in use, and those of live and pending tasks: by request id, then deploy id. */
  private async deployViews(
    tx: Queryable,
    ids: readonly string[] | null,
  ): Promise<Map<string, Map<string, DeployToPlace>>> {
    const found = await this.rows.deploys.inUse(tx, ids);
    const averages = await this.averageRuntimes(tx, found);
    const views = new Map<string, Map<string, DeployToPlace>>();
    for (const { requestId, deployId, deploy } of found) {
      const view = { deploy, averageRuntimeMillis: averages.get(deployKeyText({ requestId, deployId })) };
      views.set(requestId, (views.get(requestId) ?? new Map<string, DeployToPlace>()).set(deployId, view));
    }
    return views;
  }

  /** Only where machines are set apart for short runs. */
  private async averageRuntimes(tx: Queryable, keys: readonly DeployKey[]): Promise<Map<string, number | undefined>> {
    if (Object.keys(this.settings.preemptibleTasksOnlyMachineAttributes).length === 0) return new Map();
    const counts = await this.rows.deployStatistics.find(tx, keys);
    return new Map([...counts].map(([key, { averageRuntimeMillis }]) => [key, averageRuntimeMillis]));
  }
}

type Answers<Reads extends readonly (() => Promise<unknown>)[]> = {
  -readonly [Index in keyof Reads]: Awaited<ReturnType<Reads[Index]>>;
};

/** Each on a connection of its own: the answer is wanted in milliseconds. */
const together = <const Reads extends readonly (() => Promise<unknown>)[]>(reads: Reads): Promise<Answers<Reads>> =>
  Promise.all(reads.map((read) => read())) as Promise<Answers<Reads>>;

/** On one connection. */
async function oneByOne<const Reads extends readonly (() => Promise<unknown>)[]>(
  reads: Reads,
): Promise<Answers<Reads>> {
  const answers: unknown[] = [];
  for (const read of reads) answers.push(await read());
  return answers as Answers<Reads>;
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
