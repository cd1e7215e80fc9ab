import { deployKeyText } from '../model/deploy.js';
import type { PendingTask } from '../model/task.js';
import type { RequestUtilization, SlaveUsage } from '../model/usage.js';
import {
  type DeployToPlace,
  Fleet,
  type FleetRules,
  type FleetSnapshot,
  type GroupUses,
  type MachineView,
  type RequestView,
  useOfGroup,
} from '../placement/index.js';
import { plansAhead } from '../schedules/index.js';
import { DueTasks } from './due-tasks.js';
import { GroupMembers } from './group-members.js';
import { MachineUses, type HeldTask } from './machine-uses.js';

/** A request with everything that placing its tasks reads. */
export interface HeldRequest extends Pick<
  RequestView,
  'request' | 'state' | 'scheduleSince' | 'activeDeployId' | 'pendingDeploy'
> {
  version: number;
  /** Deploys in use, and those of its live and pending tasks, by deploy id. */
  deploys: Map<string, DeployToPlace>;
}

/** A machine without what our tasks take from it. `usedPorts` are taken by others. */
export type HeldMachine = Omit<MachineView, 'used'>;

interface Entry {
  /** undefined: the request is gone, pending tasks are left of it. */
  held: HeldRequest | undefined;
  tasks: Map<string, HeldTask>;
  /** Tasks that were given up and may still run. They take nothing from machines. */
  givenUp: Map<string, HeldTask>;
  pending: Map<string, PendingTask>;
  view: RequestView | undefined;
}

/**
 * Input of placement, kept in memory between its rounds: requests with their tasks and pending tasks, and machines with
 * what is free. Updated with every change, it always equals one that was loaded anew.
 */
export class WorkingSet {
  private readonly requests = new Map<string, Entry>();
  private readonly deploys = new Map<string, DeployToPlace>();
  private readonly groupMembers = new GroupMembers();
  private readonly machines = new Map<string, HeldMachine>();
  private readonly uses = new MachineUses();
  private usages: ReadonlyMap<string, SlaveUsage> = new Map();
  private readonly utilizations = new Map<string, RequestUtilization>();
  private readonly dueTasks = new DueTasks();
  private readonly fleet: Fleet;
  /** Slaves whose place in the fleet is out of date. */
  private readonly stale = new Set<string>();

  constructor(rules: FleetRules) {
    this.fleet = new Fleet([], rules);
  }

  /** undefined: there is no such request, but perhaps tasks and pending tasks that are left of it. */
  putRequest(
    id: string,
    request: HeldRequest | undefined,
    tasks: readonly HeldTask[],
    pendingTasks: readonly PendingTask[],
    givenUp: readonly HeldTask[] = [],
  ): void {
    const former = this.requests.get(id);
    this.groupMembers.replace(id, former?.held, request);
    for (const deployId of former?.held?.deploys.keys() ?? [])
      this.deploys.delete(deployKeyText({ requestId: id, deployId }));
    this.replaceTasks(id, former?.tasks, tasks);
    this.replacePending(former?.pending, pendingTasks);
    if (!request && tasks.length + givenUp.length + pendingTasks.length === 0) {
      this.requests.delete(id);
      return;
    }
    for (const [deployId, view] of request?.deploys ?? [])
      this.deploys.set(deployKeyText({ requestId: id, deployId }), view);
    const entry = {
      held: request,
      tasks: new Map(tasks.map((task) => [task.taskId.id, task])),
      givenUp: new Map(givenUp.map((task) => [task.taskId.id, task])),
      pending: new Map(pendingTasks.map((task) => [task.pendingTaskId.id, task])),
    };
    this.requests.set(id, { ...entry, view: request && viewOf(request, entry, this.utilizations) });
  }

  /** undefined: the cluster does not show it any more. */
  putMachine(slaveId: string, machine: HeldMachine | undefined): void {
    if (machine) this.machines.set(slaveId, machine);
    else this.machines.delete(slaveId);
    this.stale.add(slaveId);
  }

  /** A pending task became a task on a machine where a round put it. */
  taskPlaced(pendingTaskId: string, task: HeldTask): void {
    const entry = this.requests.get(task.requestId);
    if (!entry?.pending.delete(pendingTaskId)) return;
    this.dueTasks.remove(pendingTaskId);
    entry.tasks.set(task.taskId.id, task);
    this.uses.add(task, this.utilizations.get(task.requestId));
    // Its score went by what was expected of the task; from now on by what such tasks probably use.
    if (this.usages.has(task.slaveId)) this.stale.add(task.slaveId);
  }

  /** A former deploy of which the last task has ended. */
  private forgetUnusedDeploy(
    { held, pending, tasks, givenUp }: Entry,
    { requestId, taskId: { deployId } }: HeldTask,
  ): void {
    if (!held || deployId === held.activeDeployId || deployId === held.pendingDeploy?.deployId) return;
    for (const { pendingTaskId } of pending.values()) if (pendingTaskId.deployId === deployId) return;
    for (const { taskId } of tasks.values()) if (taskId.deployId === deployId) return;
    for (const { taskId } of givenUp.values()) if (taskId.deployId === deployId) return;
    held.deploys.delete(deployId);
    this.deploys.delete(deployKeyText({ requestId, deployId }));
  }

  /** Copies the use of slaves and requests from another working set. */
  copyUsageOf(other: WorkingSet): void {
    this.setUsages(other.usages);
    for (const [id, utilization] of other.utilizations) this.setUtilization(id, utilization);
  }

  /** The newest samples of slaves, by slave id. */
  setUsages(usages: ReadonlyMap<string, SlaveUsage>): void {
    for (const slaveId of [...this.usages.keys(), ...usages.keys()]) this.stale.add(slaveId);
    this.usages = usages;
  }

  /** Sets the use of a request's tasks so far; undefined: not known. */
  setUtilization(requestId: string, utilization: RequestUtilization | undefined): void {
    const former = this.utilizations.get(requestId);
    if (utilization) this.utilizations.set(requestId, utilization);
    else this.utilizations.delete(requestId);
    for (const task of this.requests.get(requestId)?.tasks.values() ?? []) {
      this.uses.subtract(task, former);
      this.uses.add(task, utilization);
      this.stale.add(task.slaveId);
    }
  }

  /** Requests of which a utilization is known. */
  get utilized(): Iterable<string> {
    return this.utilizations.keys();
  }

  /** Discards the placements of a round on the machine. */
  takenBack(slaveId: string): void {
    this.stale.add(slaveId);
  }

  /** `mayRun`: it was given up. */
  taskEnded(requestId: string, taskId: string, mayRun = false): void {
    const entry = this.requests.get(requestId);
    const task = entry?.tasks.get(taskId);
    if (!entry || !task) return;
    entry.tasks.delete(taskId);
    if (mayRun) entry.givenUp.set(taskId, { ...task, cleaning: false, killed: false });
    this.forgetUnusedDeploy(entry, task);
    this.uses.subtract(task, this.utilizations.get(requestId));
    this.stale.add(task.slaveId);
  }

  versionOf(requestId: string): number | undefined {
    return this.requests.get(requestId)?.held?.version;
  }

  /** Time at which the next pending task becomes due, as of the last `snapshot`. */
  nextDueAt(): number | undefined {
    return this.dueTasks.nextDueAt();
  }

  /** Snapshot for a round now. The round fills the fleet; its caller reports the launches that were stored. */
  snapshot(now: number, takenTaskIds: FleetSnapshot['takenTaskIds']): FleetSnapshot {
    this.freshen();
    return {
      due: [...this.dueTasks.due(now)],
      requests: this.views,
      deploys: this.deploys,
      machines: this.fleet,
      takenTaskIds,
      groups: this.groups,
    };
  }

  private readonly groups: GroupUses = {
    get: (name) =>
      useOfGroup(
        [...this.groupMembers.of(name)].flatMap((id) => {
          const { held, tasks } = this.requests.get(id)!;
          return held ? { request: held.request, active: tasks.size } : [];
        }),
      ),
  };

  private readonly views: Pick<ReadonlyMap<string, RequestView>, 'get'> = {
    get: (id) => this.requests.get(id)?.view,
  };

  /** Puts machines that changed where they now belong. */
  private freshen(): void {
    for (const slaveId of this.stale) {
      const machine = this.machines.get(slaveId);
      const usage = this.usages.get(slaveId);
      if (machine) this.fleet.put({ ...machine, ...this.uses.of(slaveId, machine.usedPorts), usage });
      else this.fleet.remove(slaveId);
    }
    this.stale.clear();
  }

  private replaceTasks(
    requestId: string,
    former: ReadonlyMap<string, HeldTask> | undefined,
    tasks: readonly HeldTask[],
  ): void {
    const utilization = this.utilizations.get(requestId);
    const kept = new Set<string>();
    for (const task of tasks) {
      if (former?.has(task.taskId.id)) kept.add(task.taskId.id);
      else this.change('add', task, utilization);
    }
    for (const [id, task] of former ?? []) if (!kept.has(id)) this.change('subtract', task, utilization);
  }

  private change(how: 'add' | 'subtract', task: HeldTask, utilization: RequestUtilization | undefined): void {
    this.uses[how](task, utilization);
    this.stale.add(task.slaveId);
  }

  private replacePending(former: ReadonlyMap<string, PendingTask> | undefined, pending: readonly PendingTask[]): void {
    for (const id of former?.keys() ?? []) this.dueTasks.remove(id);
    for (const task of pending) this.dueTasks.add(task);
  }

  get requestIds(): Iterable<string> {
    return this.requests.keys();
  }

  get slaveIds(): Iterable<string> {
    return this.machines.keys();
  }

  /** State of one request, in an order that does not depend on the order of changes: for comparison with its rows. */
  describeRequest(id: string): unknown {
    const entry = this.requests.get(id);
    return (
      entry && {
        ...entry.held,
        deploys: byKey(entry.held?.deploys ?? []),
        tasks: byKey(entry.tasks).map(([, task]) => task),
        givenUp: byKey(entry.givenUp).map(([, task]) => task),
        pendingTasks: byKey(entry.pending).map(([, task]) => task),
      }
    );
  }

  /** State of one machine, and its free resources; as above. */
  describeMachine(slaveId: string): unknown {
    this.freshen();
    const machine = this.fleet.find(slaveId);
    if (!machine) return undefined;
    const { view, free, score, ports } = machine;
    return {
      ...view,
      used: undefined,
      usedPorts: undefined,
      // Only together with a sample it says something; until there is one it is not kept up.
      probable: view.usage && view.probable,
      free,
      score,
      ports: ports.ranges,
    };
  }
}

export function countRetries(pending: Iterable<PendingTask>): number {
  let count = 0;
  for (const { pendingTaskId } of pending) if (pendingTaskId.pendingType === 'RETRY') count += 1;
  return count;
}

const byKey = <T>(entries: Iterable<[string, T]>): [string, T][] => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));

function viewOf(
  { request, state, scheduleSince, activeDeployId, pendingDeploy }: HeldRequest,
  { tasks, givenUp, pending }: Pick<Entry, 'tasks' | 'givenUp' | 'pending'>,
  utilizations: ReadonlyMap<string, RequestUtilization>,
): RequestView {
  return {
    request,
    state,
    scheduleSince,
    activeDeployId,
    pendingDeploy,
    get tasks() {
      return tasks.values();
    },
    get givenUp() {
      return givenUp.values();
    },
    get pendingTasks() {
      return pending.size;
    },
    get waitingRetries() {
      return plansAhead(request) ? countRetries(pending.values()) : undefined;
    },
    get utilization() {
      return utilizations.get(request.id);
    },
  };
}
