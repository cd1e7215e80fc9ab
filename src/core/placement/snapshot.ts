import type { MachineState, PendingType, RequestState, SlavePlacement } from '../model/enums.js';
import type { Deploy, ExtendedResources, Resources } from '../model/deploy.js';
import { sidecarResources } from '../model/deploy-tasks.js';
import type { Request } from '../model/request.js';
import type { PendingTask, TaskId } from '../model/task.js';
import type { RequestUtilization, SlaveUsage } from '../model/usage.js';
import type { Amounts, PreferenceRules, ScoringRules } from '../usage/index.js';

/** Everything one round of placement reads. Plain data: the same snapshot always gives the same decisions. */
export interface PlacementSnapshot {
  /** Pending tasks whose time has come. */
  due: readonly PendingTask[];
  /** By request id. */
  requests: ReadonlyMap<string, RequestView>;
  /** By `requestId-deployId`. */
  deploys: ReadonlyMap<string, DeployToPlace>;
  machines: readonly MachineView[];
  /** Ids that a new task may not get: a task id is bound to one launch. */
  takenTaskIds: Pick<ReadonlySet<string>, 'has'>;
  /** Use of concurrency groups; absent: no request names one. */
  groups?: GroupUses;
}

/** Active runs of all requests that name a concurrency group, and the least of the limits that they give. */
export interface GroupUse {
  limit: number;
  active: number;
}

/** By name of the group. */
export type GroupUses = Pick<ReadonlyMap<string, GroupUse>, 'get'>;

export interface RequestView {
  request: Request;
  state: RequestState;
  /** Time at which its schedule was saved as it is. */
  scheduleSince?: number;
  activeDeployId?: string;
  pendingDeploy?: { deployId: string; updatedRequest?: Request };
  /** Active tasks of every deploy. */
  tasks: Iterable<TaskSnapshot>;
  /** Tasks that were given up, and count as live where their number is bounded: they may still run. */
  givenUp?: Iterable<GivenUpTask>;
  /** All its pending tasks, also those whose time has not come. */
  pendingTasks: number;
  /** Runs that are to be tried again and wait; told of requests whose runs are bounded by it. */
  waitingRetries?: number;
  /** Use of its tasks so far; absent: not known. */
  utilization?: RequestUtilization;
}

export interface DeployToPlace {
  deploy: Deploy;
  averageRuntimeMillis?: number;
}

export type GivenUpTask = Pick<TaskSnapshot, 'taskId' | 'slaveId'>;

export interface TaskSnapshot {
  taskId: Pick<TaskId, 'id' | 'deployId'>;
  slaveId: string;
  rackId: string;
  pendingType: PendingType;
  actionId?: string;
  cleaning: boolean;
  killed: boolean;
}

/** A machine with what runs on it. cpus in cores, memory and disk in MB. */
export interface MachineView {
  slaveId: string;
  hostname: string;
  rackId: string;
  incarnation: string;
  attributes: Readonly<Record<string, string>>;
  /** undefined: the cluster shows it, but there is no record of it yet. */
  state: MachineState | undefined;
  rackState: MachineState;
  /** Operators said that nothing new is to run on its host. */
  hostIsInactive?: boolean;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  portRanges: readonly { begin: number; end: number }[];
  /** Absent: it has none. */
  extended?: ExtendedResources;
  /** Most tasks at once; absent: any number. */
  maxTasks?: number;
  /** `tasks`: number of them; absent: none. */
  used: { cpus: number; memoryMb: number; diskMb: number; extended?: ExtendedResources; tasks?: number };
  /** Ports of tasks, and ports found taken by something else. */
  usedPorts: Iterable<number>;
  /** Tasks were given up there, and it was not asked yet which of them it has. */
  isReturning?: boolean;
  /** Reason of its cluster why it takes no new tasks; absent: it takes them. */
  closedBecause?: string;
  /** It starts nothing until more of its disk is free. */
  isDiskFull?: boolean;
  /** False: it has no engine for containers, or none that works. */
  runsContainers?: boolean;
  /** Its newest sample; absent: none yet. */
  usage?: SlaveUsage;
  /** Probable use of its tasks. */
  probable?: Readonly<Amounts>;
}

/** Operators' settings for all requests, which override those of a request. */
export interface PlacementOverride {
  /** In place of the strategy of each request. */
  slavePlacement?: SlavePlacement;
  /** Tasks are placed as if no request were rackSensitive. */
  ignoresRackSensitivity: boolean;
}

/** Failure of a launch that its task waits after. */
export interface SetAside {
  why: 'CANNOT_BE_STORED' | 'NOT_ADMITTED';
  cause: string;
}

export interface PlacementRules {
  defaultResources: { cpus: number; memoryMb: number; diskMb: number };
  executorResources: { cpus: number; memoryMb: number; diskMb: number };
  defaultPlacement: SlavePlacement;
  allowBounceToSameHost: boolean;
  /** OPTIMISTIC: how far above the average a machine may go, per pending task. */
  placementLeniency: number;
  /** The expected number of racks, else the number of ACTIVE ones. */
  rackCount: number;
  /** Machines that hold such a pair are only for tasks that ask for it. */
  reservedAttributes: Readonly<Record<string, readonly string[]>>;
  /** Machines that hold all of these are only for tasks that may be interrupted. */
  preemptibleOnlyAttributes: Readonly<Record<string, string>>;
  preemptibleMaxRuntimeMillis: number;
  /** Most tasks placed on one machine in one round; 0: any number. */
  maxTasksPerMachine: number;
  /** Most active tasks of an ON_DEMAND request that sets no instances; 0: any number. */
  maxActiveOnDemandTasks: number;
  /** Nothing is placed: an operator switched it off. */
  disabled?: boolean;
  override?: PlacementOverride;
  /** A priority freeze is on: tasks of a lower level stay pending. */
  minimumPriorityLevel?: number;
  /** By pending task id: tasks whose launch failed a moment ago, and that are not to be tried yet. */
  setAside?: ReadonlyMap<string, SetAside>;
  /** By request: what its first start waits for. */
  startWaits?: ReadonlyMap<string, string>;
  /** Scoring of machines by their use; absent: by their free resources. */
  scoring?: ScoringRules;
  preference?: PreferenceRules;
  priority: { defaultLevel: number; levelOfType: Readonly<Record<string, number>>; weightFactor: number };
}

/** Resources that a task takes from a machine: its own, those of its executor, and those of its sidecars. */
export interface NeededResources {
  cpus: number;
  memoryMb: number;
  diskMb: number;
  numPorts: number;
  extended?: ExtendedResources;
}

/** Run override, else deploy, else defaults. */
function taskResources(
  override: Resources | undefined,
  deploy: Deploy,
  rules: Pick<PlacementRules, 'defaultResources'>,
): NeededResources {
  const given = override ?? deploy.resources ?? {};
  return {
    cpus: given.cpus ?? rules.defaultResources.cpus,
    memoryMb: given.memoryMb ?? rules.defaultResources.memoryMb,
    diskMb: given.diskMb ?? rules.defaultResources.diskMb,
    numPorts: given.numPorts ?? 0,
    ...(given.extended && { extended: given.extended }),
  };
}

/** Only deploys with an executor of their own pay for it. */
function executorResources(deploy: Deploy, rules: PlacementRules): Omit<NeededResources, 'numPorts'> {
  if (deploy.customExecutorCmd === undefined) return { cpus: 0, memoryMb: 0, diskMb: 0 };
  return { ...rules.executorResources, ...definedOnly(deploy.customExecutorResources) };
}

/** Resources that a task needs for itself, and together with its executor and its sidecars. */
export function taskNeeds(
  override: Resources | undefined,
  deploy: Deploy,
  rules: PlacementRules,
): { own: NeededResources; needed: Omit<NeededResources, 'numPorts'> } {
  const own = taskResources(override, deploy, rules);
  const executor = executorResources(deploy, rules);
  const sidecars = sidecarResources(deploy.tasks);
  const needed = {
    cpus: own.cpus + executor.cpus + sidecars.cpus,
    memoryMb: own.memoryMb + executor.memoryMb + sidecars.memoryMb,
    diskMb: own.diskMb + executor.diskMb,
    ...(own.extended && { extended: own.extended }),
  };
  return { own, needed };
}

function definedOnly(resources: Resources | undefined): Partial<Record<'cpus' | 'memoryMb' | 'diskMb', number>> {
  const { cpus, memoryMb, diskMb } = resources ?? {};
  return { ...(cpus != null && { cpus }), ...(memoryMb != null && { memoryMb }), ...(diskMb != null && { diskMb }) };
}
