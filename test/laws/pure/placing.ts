import type { MachineSnapshot } from '../../../src/cluster/cluster-driver.js';
import { groupBy } from '../../../src/core/group-by.js';
import { planLaunch } from '../../../src/core/launch/index.js';
import { isDue, type PendingTask } from '../../../src/core/model/task.js';
import {
  type MachineView,
  type PlacementOutcome,
  type PlacementSnapshot,
  placeTasks,
  taskNeeds,
} from '../../../src/core/placement/index.js';
import { launchRules, placementRules } from '../../../src/scheduler/rules.js';
import type { Mix } from './any-order.js';
import { storedSlaves, type Model } from './model.js';
import type { TaskRow } from './tables.js';

/** A decision on rows that may have changed when it is written. */
export interface Decided {
  outcomes: PlacementOutcome[];
  /** Versions of the requests, by id. */
  versions: Map<string, number>;
  decidedAt: number;
}

/** Memory of a leader that the rows do not show: ids of launches taken back, ports it found taken. */
export interface Recent {
  taskIds: Set<string>;
  takenPorts: Map<string, Set<number>>;
}

/** `shown`: the machines as the cluster shows them. */
export function decide(model: Model, shown: readonly MachineSnapshot[], recent: Recent): Decided {
  const { tables, settings, anyOrder } = model;
  const now = model.now();
  const rules = placementRules(settings, storedSlaves(model));
  const due = [...tables.pendingTasks.values()].filter(({ pendingTaskId }) => isDue(pendingTaskId, now));
  const versions = new Map([...tables.requests].map(([id, { version }]) => [id, version]));
  if (due.length === 0) return { outcomes: [], versions, decidedAt: now };
  const outcomes = anyOrder.decide('placement', snapshot(model, due, shown, recent), shuffled, (rows) =>
    [...placeTasks(rows, rules, now, 1)].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1)),
  );
  return { outcomes, versions, decidedAt: now };
}

const idOf = ({ pending }: PlacementOutcome): string => pending.pendingTaskId.id;

const shuffled = (rows: PlacementSnapshot, mixed: Mix): PlacementSnapshot => ({
  ...rows,
  due: mixed(rows.due),
  machines: mixed(rows.machines),
  requests: new Map(mixed([...rows.requests]).map(([id, view]) => [id, { ...view, tasks: mixed([...view.tasks]) }])),
});

function snapshot(
  model: Model,
  due: readonly PendingTask[],
  shown: readonly MachineSnapshot[],
  recent: Recent,
): PlacementSnapshot {
  const { tables } = model;
  const onMachines = groupBy(
    [...tables.tasks.values()].filter(({ endedAt }) => endedAt === undefined),
    ({ slaveId }) => slaveId,
  );
  return {
    due,
    requests: new Map(
      [...tables.requests].map(([id, { request, state, activeDeployId }]) => [
        id,
        {
          request,
          state,
          activeDeployId,
          pendingDeploy: tables.pendingDeploys.get(id),
          tasks: tables.tasksOf(id).map(({ taskId, slaveId, rackId, pendingType, actionId }) => ({
            taskId,
            slaveId,
            rackId,
            pendingType,
            actionId,
            cleaning: tables.cleanups.has(taskId.id),
            killed: tables.kills.has(taskId.id),
          })),
          givenUp: tables.givenUpOf(id).map(({ taskId, slaveId }) => ({ taskId, slaveId })),
          pendingTasks: tables.pendingOf(id).length,
        },
      ]),
    ),
    deploys: new Map([...tables.deploys].map(([key, deploy]) => [key, { deploy }])),
    machines: shown.map((machine) => machineView(model, machine, onMachines.get(machine.slaveId) ?? [], recent)),
    takenTaskIds: recent.taskIds,
  };
}

function machineView(
  { tables }: Model,
  machine: MachineSnapshot,
  tasks: readonly TaskRow[],
  recent: Recent,
): MachineView {
  const known = tables.machines.get(machine.slaveId);
  const sum = (pick: (task: TaskRow) => number) => tasks.reduce((total, task) => total + pick(task), 0);
  return {
    ...machine,
    state: known?.machine.incarnation === machine.incarnation ? known.state : undefined,
    rackState: tables.racks.get(machine.rackId) ?? 'ACTIVE',
    used: {
      cpus: sum(({ cpus }) => cpus),
      memoryMb: sum(({ memoryMb }) => memoryMb),
      diskMb: sum(({ diskMb }) => diskMb),
    },
    usedPorts: [...tasks.flatMap(({ ports }) => ports), ...(recent.takenPorts.get(machine.slaveId) ?? [])],
  };
}

/** Writes what still holds of it. Answers the tasks that exist now. */
export function write(model: Model, { outcomes, versions, decidedAt }: Decided): TaskRow[] {
  const { tables } = model;
  const written: TaskRow[] = [];
  for (const outcome of outcomes) {
    const { requestId } = outcome.pending.pendingTaskId;
    if (tables.requests.get(requestId)?.version !== versions.get(requestId)) continue;
    if (outcome.kind === 'obsolete') tables.pendingTasks.delete(idOf(outcome));
    if (outcome.kind !== 'place' || !tables.pendingTasks.has(idOf(outcome))) continue;
    const live = tables.tasksOf(requestId).length + tables.givenUpOf(requestId).length;
    if (live >= (outcome.mostLive ?? Number.POSITIVE_INFINITY)) continue;
    if (tables.hadTask(outcome.taskId.id) || !isStillThere(model, outcome.machine)) continue;
    tables.pendingTasks.delete(idOf(outcome));
    const row = taskRow(model, outcome, decidedAt);
    tables.tasks.set(row.taskId.id, row);
    written.push(row);
  }
  return written;
}

/** The machine is the one that was decided on, takes tasks, and says the same of itself. */
function isStillThere({ tables }: Model, decided: MachineView): boolean {
  const row = tables.machines.get(decided.slaveId);
  return (
    row?.state === 'ACTIVE' &&
    (tables.racks.get(row.machine.rackId) ?? 'ACTIVE') === 'ACTIVE' &&
    row.machine.incarnation === decided.incarnation &&
    row.machine.rackId === decided.rackId &&
    JSON.stringify(row.machine.attributes) === JSON.stringify(decided.attributes)
  );
}

function taskRow(
  model: Model,
  { pending, request, machine, taskId, ports }: Extract<PlacementOutcome, { kind: 'place' }>,
  decidedAt: number,
): TaskRow {
  const deploy = model.tables.deploys.get(`${taskId.requestId}-${taskId.deployId}`)!;
  const rules = placementRules(model.settings, []);
  const { own, needed } = taskNeeds(pending.resources, deploy, rules);
  const { pendingType, nextRunAt } = pending.pendingTaskId;
  return {
    taskId,
    slaveId: machine.slaveId,
    rackId: machine.rackId,
    incarnation: machine.incarnation,
    pendingType,
    nextRunAt,
    runId: pending.runId,
    actionId: pending.actionId,
    ...needed,
    ports,
    state: 'TASK_LAUNCHED',
    answered: false,
    mayRun: false,
    pendingTask: pending,
    spec: planLaunch(
      { taskId, place: machine, request, deploy, pending, ports, own, needed },
      launchRules(model.settings),
    ),
    updates: [{ state: 'TASK_LAUNCHED', at: decidedAt }],
  };
}
