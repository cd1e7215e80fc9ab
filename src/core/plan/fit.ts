import type { DeployTask } from '../deploys/index.js';
import { deployKeyText, type ExtendedResources } from '../model/deploy.js';
import type { TaskCleanupType } from '../model/enums.js';
import type { GateType } from '../model/gate.js';
import type { PendingTask, TaskId } from '../model/task.js';
import type { ActiveTask } from '../pending-work/index.js';
import {
  type DeployToPlace,
  explainWaiting,
  type Explanation,
  Fleet,
  type MachineView,
  type TaskSnapshot,
  type PlacementOutcome,
  type PlacementRules,
  placeTasks,
  type RequestView,
  sumOfExtended,
  taskNeeds,
  type WaitingOutcome,
} from '../placement/index.js';

/** An active task with the resources that it takes from its machine. */
export interface TaskOnMachine extends TaskSnapshot {
  cpus: number;
  memoryMb: number;
  diskMb: number;
  extended?: ExtendedResources;
  ports: readonly number[];
}

/** Machines and tasks among which the tasks of a plan have to find room. */
export interface FittingScene {
  /** As it would stand when the plan is carried out; its tasks are those of now. */
  request: Omit<RequestView, 'tasks' | 'pendingTasks'>;
  /** Active tasks of the request. */
  tasks: readonly TaskOnMachine[];
  /** By `requestId-deployId`. */
  deploys: ReadonlyMap<string, DeployToPlace>;
  machines: readonly MachineView[];
}

/** Parts of a planned step that take room and release it. */
interface StepToFit extends Pick<PlannedStep, 'start'> {
  stop: readonly { taskId: { id: string } }[];
}

/** Number of tasks of a step that find a machine, and the reasons against the others. */
export interface StepFit {
  tasks: number;
  fitting: number;
  /** PLACEABLE: all of them fit. */
  explanation: Explanation;
}

/**
 * Places the tasks of one step after the other on the machines as they are now. Tasks that have to go keep what they
 * take until their step is over. Where a step does not fit, the next ones are looked at as if an operator had made it come
 * to its end. One step at a time, so that the caller can let others have their turn.
 */
export function* fitSteps(
  steps: readonly StepToFit[],
  scene: FittingScene,
  rules: PlacementRules,
  now: number,
): Generator<StepFit, void, undefined> {
  const room = new Room(scene, rules, now);
  for (const { start, stop } of steps) {
    yield room.place(start);
    room.free(stop.map(({ taskId }) => taskId.id));
  }
}

class Room {
  private readonly fleet: Fleet;
  private readonly machines: Map<string, MachineView>;
  private readonly tasks: Map<string, TaskOnMachine>;
  /** A plan is not one round: what a machine may get in one round says nothing. */
  private readonly rules: PlacementRules;

  constructor(
    private readonly scene: FittingScene,
    rules: PlacementRules,
    private readonly now: number,
  ) {
    this.rules = { ...rules, maxTasksPerMachine: 0 };
    this.fleet = new Fleet(scene.machines, rules);
    this.machines = new Map(scene.machines.map((machine) => [machine.slaveId, machine]));
    this.tasks = new Map(scene.tasks.map((task) => [task.taskId.id, task]));
  }

  place(start: readonly PendingTask[]): StepFit {
    const { request, deploys } = this.scene;
    const view: RequestView = { ...request, tasks: [...this.tasks.values()], pendingTasks: start.length };
    const requests = new Map([[request.request.id, view]]);
    const snapshot = { due: start, requests, deploys, machines: this.fleet, takenTaskIds: this.tasks };
    const outcomes = [...placeTasks(snapshot, this.rules, this.now, 0)];
    const placed = outcomes.filter((outcome) => outcome.kind === 'place');
    for (const outcome of placed) this.keep(outcome);
    const refused = outcomes.find((outcome): outcome is WaitingOutcome => outcome.kind === 'wait');
    const explanation = refused ? explainWaiting(refused, this.machines.size) : this.allFit();
    return { tasks: start.length, fitting: placed.length, explanation };
  }

  private allFit(): Explanation {
    return { reason: 'PLACEABLE', slaves: this.machines.size, fitting: this.machines.size, rejections: [] };
  }

  /** The round has taken its share from the fleet; this is for when something on the machine goes. */
  private keep({ taskId, pending, machine, ports }: Extract<PlacementOutcome, { kind: 'place' }>): void {
    const { pendingType } = pending.pendingTaskId;
    const { deploy } = this.scene.deploys.get(deployKeyText(pending.pendingTaskId))!;
    const { needed } = taskNeeds(pending.resources, deploy, this.rules);
    const { slaveId, rackId } = machine;
    const task = { taskId, slaveId, rackId, pendingType, cleaning: false, killed: false, ...needed, ports };
    this.tasks.set(taskId.id, task);
    this.change(task, 1);
  }

  free(taskIds: readonly string[]): void {
    const changed = new Set<string>();
    for (const id of taskIds) {
      const task = this.tasks.get(id);
      if (!task) continue;
      this.tasks.delete(id);
      this.change(task, -1);
      changed.add(task.slaveId);
    }
    for (const slaveId of changed) {
      const machine = this.machines.get(slaveId);
      if (machine) this.fleet.put(machine);
    }
  }

  private change({ slaveId, cpus, memoryMb, diskMb, extended, ports }: TaskOnMachine, sign: 1 | -1): void {
    const machine = this.machines.get(slaveId);
    if (!machine) return;
    const { used } = machine;
    const usedPorts = new Set(machine.usedPorts);
    for (const port of ports)
      if (sign > 0) usedPorts.add(port);
      else usedPorts.delete(port);
    this.machines.set(slaveId, {
      ...machine,
      used: {
        cpus: used.cpus + sign * cpus,
        memoryMb: used.memoryMb + sign * memoryMb,
        diskMb: used.diskMb + sign * diskMb,
        extended: sumOfExtended(used.extended, extended, sign),
        tasks: (used.tasks ?? 0) + sign,
      },
      usedPorts,
    });
  }
}

/** An active task of the request, as deploys and the queue look at it. */
export type PlanTask = DeployTask & Pick<ActiveTask, 'slaveId' | 'rackId'>;

/** A task that has to go, and why. */
export interface PlannedStop {
  taskId: TaskId;
  cleanupType: TaskCleanupType;
}

/** Tasks that start together, and those that go when all of them are healthy. */
export interface PlannedStep {
  start: PendingTask[];
  stop: PlannedStop[];
  /** The next step begins so many milliseconds after this one; absent: at once. */
  waitMillis?: number;
  /** The next step begins when an operator asks for it. */
  waitsForUpdate?: boolean;
  /** Gates between this step and the next one, or the end of the deploy. */
  gates?: PlannedGate[];
}

/** A gate of a deploy, with the least time that it takes. */
export interface PlannedGate {
  /** Its number in the settings of the deploy, from 1. */
  gate: number;
  type: GateType;
  leastMillis: number;
  message?: string;
}

/** Converts a task of a plan to one of the pending queue. */
export const asActive = ({ taskId, slaveId, rackId, cleanup, killed }: PlanTask): ActiveTask => ({
  taskId,
  slaveId,
  rackId,
  cleaning: cleanup,
  killed,
});
