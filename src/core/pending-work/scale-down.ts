import type { MachineState } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import type { ActiveTask, PlannedCleanup, SpreadRules } from './pending-work.js';

/** Settings for the spread of tasks. */
interface RackSettings {
  rebalanceRacksOnScaleDown: boolean;
  expectedRacksCount?: number;
}

/** A slave as the spread of tasks sees it. */
export interface SpreadSlave {
  id: string;
  attributes: Record<string, string>;
  rackId: string;
  rackState?: MachineState;
  state?: MachineState;
}

export function spreadRules(settings: RackSettings, slaves: readonly SpreadSlave[]): SpreadRules {
  const attributes = new Map(slaves.map((slave) => [slave.id, slave.attributes]));
  const active = new Set(slaves.filter(takesTasks).map(({ id }) => id));
  return {
    rebalanceRacksOnScaleDown: settings.rebalanceRacksOnScaleDown,
    rackCount: rackCount(settings, slaves),
    attributesOf: (slaveId) => attributes.get(slaveId) ?? {},
    isActive: (slaveId) => active.has(slaveId),
  };
}

const takesTasks = ({ state, rackState = 'ACTIVE' }: SpreadSlave): boolean =>
  (state === undefined || state === 'ACTIVE') && rackState === 'ACTIVE';

/** The expected number, else that of the ACTIVE racks. */
export function rackCount(settings: Pick<RackSettings, 'expectedRacksCount'>, slaves: readonly SpreadSlave[]): number {
  const active = slaves.filter((slave) => slave.rackState === 'ACTIVE').map((slave) => slave.rackId);
  return settings.expectedRacksCount ?? new Set(active).size;
}

interface ScaleDown {
  cleanups: PlannedCleanup[];
  survivors: ActiveTask[];
  /** Number of tasks to start elsewhere for those that were moved. */
  replacements: number;
}

interface Surplus {
  request: Request;
  matching: readonly ActiveTask[];
  expected: number;
  deployPending: boolean;
  user?: string;
}

/**
 * Surplus of tasks of which each slave has one: tasks on a slave that takes no tasks any more go before those on
 * others; then the highest numbers.
 */
export const surplusOnePerSlave = <T extends Pick<ActiveTask, 'taskId' | 'slaveId'>>(
  tasks: readonly T[],
  count: number,
  { isActive = () => true }: Pick<SpreadRules, 'isActive'>,
): T[] =>
  tasks
    .toSorted(
      (a, b) =>
        Number(isActive(a.slaveId)) - Number(isActive(b.slaveId)) ||
        b.taskId.instanceNo - a.taskId.instanceNo ||
        b.taskId.startedAt - a.taskId.startedAt ||
        (a.taskId.id < b.taskId.id ? -1 : 1),
    )
    .slice(0, Math.max(count, 0));

/** Surplus tasks: those with a number that is taken twice or beyond the expected count. */
export function scaleDown(
  { request, matching, expected, deployPending, user }: Surplus,
  rules: SpreadRules,
): ScaleDown {
  const direction = deployPending ? 1 : -1;
  const ordered = matching.toSorted(
    (a, b) =>
      direction * (a.taskId.instanceNo - b.taskId.instanceNo) ||
      a.taskId.startedAt - b.taskId.startedAt ||
      (a.taskId.id < b.taskId.id ? -1 : 1),
  );
  const onePerSlave = rules.onePerSlave?.(request) ?? false;
  const leaving = new Set(onePerSlave ? surplusOnePerSlave(ordered, ordered.length - expected, rules) : []);
  const seen = new Set<number>();
  const cleanups: PlannedCleanup[] = [];
  const survivors: ActiveTask[] = [];
  for (const task of ordered) {
    const { instanceNo } = task.taskId;
    if (onePerSlave ? leaving.has(task) : seen.has(instanceNo) || instanceNo > expected) {
      cleanups.push({ taskId: task.taskId, cleanupType: 'SCALING_DOWN', user });
    } else survivors.push(task);
    seen.add(instanceNo);
  }
  const moves = misplacedTasks(request, survivors, rules);
  cleanups.push(...moves.map(({ task, cleanupType }) => ({ taskId: task.taskId, cleanupType, user })));
  const moved = new Set(moves.map(({ task }) => task));
  return { cleanups, survivors: survivors.filter((task) => !moved.has(task)), replacements: moved.size };
}

interface Move {
  task: ActiveTask;
  cleanupType: 'REBALANCE_RACKS' | 'REBALANCE_SLAVE_ATTRIBUTES';
}

/** Remaining tasks that have to move elsewhere, for the racks first, then for the attributes of slaves. */
export function misplacedTasks(request: Request, survivors: readonly ActiveTask[], rules: SpreadRules): Move[] {
  const forRacks = overfullRacks(request, survivors, rules);
  const forAttributes = lackingAttributes(request, survivors, rules, forRacks);
  return [
    ...forRacks.map((task) => ({ task, cleanupType: 'REBALANCE_RACKS' }) as const),
    ...forAttributes.map((task) => ({ task, cleanupType: 'REBALANCE_SLAVE_ATTRIBUTES' }) as const),
  ];
}

/** At most half as many tasks as there are racks; never instance 1. */
function overfullRacks(request: Request, survivors: readonly ActiveTask[], rules: SpreadRules): ActiveTask[] {
  if (!request.rackSensitive || !rules.rebalanceRacksOnScaleDown || rules.rackCount === 0) return [];
  const perRack = instancesOf(request) / rules.rackCount;
  const counts = new Map<string, number>();
  const moved: ActiveTask[] = [];
  for (const task of survivors) {
    const count = (counts.get(task.rackId) ?? 0) + 1;
    counts.set(task.rackId, count);
    const mayMove = moved.length < Math.floor(rules.rackCount / 2) && task.taskId.instanceNo > 1;
    if (count > perRack && mayMove) moved.push(task);
  }
  return moved;
}

/**
 * For each attribute value that needs its share of tasks: as many of those that stand elsewhere as are in the way. None
 * moves twice: `moving` do already, and a task that moves for one attribute can move for another as well.
 */
function lackingAttributes(
  request: Request,
  survivors: readonly ActiveTask[],
  rules: SpreadRules,
  moving: readonly ActiveTask[],
): ActiveTask[] {
  const instances = instancesOf(request);
  const moved = new Set(moving);
  for (const [name, minimums] of Object.entries(request.slaveAttributeMinimums ?? {})) {
    const valueOf = (task: ActiveTask): string | undefined => rules.attributesOf(task.slaveId)[name];
    // One replacement has one value of an attribute.
    const movedForAnotherValue = new Set<ActiveTask>();
    // Those that move anyway first, those that another value needs last.
    const rank = (task: ActiveTask): number =>
      moved.has(task) ? 0 : minimums[valueOf(task) ?? ''] === undefined ? 1 : 2;
    for (const [value, percent] of Object.entries(minimums)) {
      const needed = Math.max(1, Math.ceil((percent * instances) / 100));
      const lacking = survivors.filter((task) => valueOf(task) !== value);
      const reachable = instances - lacking.length;
      const candidates = lacking
        .filter((task) => !movedForAnotherValue.has(task))
        .toSorted((a, b) => rank(a) - rank(b));
      for (const task of candidates.slice(0, Math.max(needed - reachable, 0))) {
        movedForAnotherValue.add(task);
        moved.add(task);
      }
    }
  }
  return [...moved].filter((task) => !moving.includes(task));
}
