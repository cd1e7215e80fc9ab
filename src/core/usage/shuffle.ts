import { isLongRunning, type LoadMetric, type RequestType, type TaskCleanupType } from '../model/enums.js';
import type { SlaveUsage } from '../model/usage.js';
import { bytesPerMb } from './amounts.js';
import { loadOf } from './score.js';

export interface ShuffleRules {
  loadMetric: LoadMetric;
  /** Share of its memory, 0 to 1, above which a machine has too little. */
  memoryTarget: number;
  minutesBeforeEligible: number;
  maxTasksTotal: number;
  maxTasksPerSlave: number;
}

/** A task on an overloaded machine. */
export interface ShuffleTask {
  taskId: string;
  requestId: string;
  requestType: RequestType;
  /** Its request must not be shuffled. */
  excluded: boolean;
  /** Epoch milliseconds of its TASK_RUNNING. */
  runningAt?: number;
  /** It was told to go already, for whatever reason. */
  leaving: boolean;
  /** Cores that it asked for. */
  cpus: number;
  memoryMb: number;
  /** Cores in use just now; undefined: not known. */
  cpusUsed?: number;
  memoryBytes: number;
}

export interface ShuffleSlave {
  slaveId: string;
  usage: SlaveUsage;
  tasks: readonly ShuffleTask[];
}

type ShuffleCleanup = Extract<TaskCleanupType, 'REBALANCE_CPU_USAGE' | 'REBALANCE_MEMORY_USAGE'>;

export interface ShuffleMove {
  taskId: string;
  cleanupType: ShuffleCleanup;
  message: string;
}

/** The resource that a machine lacks, and the excess in use. */
interface Overload {
  slave: ShuffleSlave;
  kind: 'CPU' | 'MEMORY';
  overage: number;
}

export const isOverUsed = (usage: SlaveUsage, rules: ShuffleRules): boolean =>
  cpusOver(usage, rules) > 0 || memoryOver(usage, rules) > 0;

/**
 * Tasks to move away from overloaded machines. `shuffling`: tasks that are being moved for that reason and have not
 * gone yet. Machines that are short of memory come first, for there tasks die; then those that are over the most.
 */
export function shuffleTasks(
  slaves: readonly ShuffleSlave[],
  shuffling: readonly { requestId: string; slaveId: string }[],
  rules: ShuffleRules,
  now: number,
): ShuffleMove[] {
  const overloads = slaves
    .flatMap((slave) => overloadOf(slave, rules) ?? [])
    .toSorted(
      (a, b) =>
        Number(b.kind === 'MEMORY') - Number(a.kind === 'MEMORY') ||
        b.overage - a.overage ||
        (a.slave.slaveId < b.slave.slaveId ? -1 : 1),
    );
  const requests = new Set(shuffling.map(({ requestId }) => requestId));
  const moves: ShuffleMove[] = [];
  for (const overload of overloads) {
    const onSlave = shuffling.filter(({ slaveId }) => slaveId === overload.slave.slaveId).length;
    const slots = {
      ofSlave: rules.maxTasksPerSlave - onSlave,
      ofCluster: rules.maxTasksTotal - shuffling.length - moves.length,
    };
    for (const task of leavingTasks(overload, slots, requests, rules, now)) {
      requests.add(task.requestId);
      moves.push(moveOf(task, overload, rules));
    }
  }
  return moves;
}

/** The few whose going brings the machine back below its limit, at most one of each request. */
function leavingTasks(
  { slave, kind }: Overload,
  slots: { ofSlave: number; ofCluster: number },
  shuffling: ReadonlySet<string>,
  rules: ShuffleRules,
  now: number,
): ShuffleTask[] {
  const candidates = slave.tasks.filter((task) => isCandidate(task, rules, now)).toSorted(order[kind]);
  const leaving: ShuffleTask[] = [];
  const requests = new Set(shuffling);
  let over = kind === 'CPU' ? cpusOver(slave.usage, rules) : memoryOver(slave.usage, rules);
  for (const [index, task] of candidates.entries()) {
    if (over <= 0 || leaving.length >= Math.min(slots.ofSlave, slots.ofCluster)) break;
    if (requests.has(task.requestId)) continue;
    const relief = kind === 'CPU' ? task.cpusUsed! : task.memoryBytes;
    const isLastSlot = leaving.length === slots.ofSlave - 1;
    const isLastCandidate = index === candidates.length - 1;
    // The last one has to suffice, as long as a bigger one may follow.
    if (isLastSlot && !isLastCandidate && relief < over) continue;
    requests.add(task.requestId);
    leaving.push(task);
    over -= relief;
  }
  return leaving;
}

/** undefined: it has enough of both. When both are short, the one that is shorter counts. */
function overloadOf(slave: ShuffleSlave, rules: ShuffleRules): Overload | undefined {
  const { usage, tasks } = slave;
  const target = memoryTargetBytes(usage, rules);
  const cpuOverage = cpusOver(usage, rules) / usage.systemCpusTotal;
  const memoryOverage = (tasks.reduce((sum, task) => sum + task.memoryBytes, 0) - target) / target;
  const isCpuOver = cpusOver(usage, rules) > 0;
  const isMemoryOver = memoryOver(usage, rules) > 0;
  if (isCpuOver && (!isMemoryOver || cpuOverage > memoryOverage)) return { slave, kind: 'CPU', overage: cpuOverage };
  return isMemoryOver ? { slave, kind: 'MEMORY', overage: memoryOverage } : undefined;
}

/** Load above the cores there are. */
function cpusOver(usage: SlaveUsage, { loadMetric }: ShuffleRules): number {
  return usage.systemCpusTotal > 0 ? loadOf(usage, loadMetric) - usage.systemCpusTotal : 0;
}

/** Bytes in use above the target. */
function memoryOver(usage: SlaveUsage, rules: ShuffleRules): number {
  const used = usage.systemMemTotalBytes - usage.systemMemFreeBytes;
  return usage.systemMemTotalBytes > 0 ? used - memoryTargetBytes(usage, rules) : 0;
}

const memoryTargetBytes = (usage: SlaveUsage, { memoryTarget }: ShuffleRules): number =>
  usage.systemMemTotalBytes * memoryTarget;

const isCandidate = (task: ShuffleTask, rules: ShuffleRules, now: number): boolean =>
  isLongRunning(task.requestType) &&
  !task.excluded &&
  !task.leaving &&
  task.runningAt !== undefined &&
  Math.floor((now - task.runningAt) / 60_000) >= rules.minutesBeforeEligible &&
  task.cpusUsed !== undefined &&
  task.cpusUsed > 0;

const shareOf = (used: number, asked: number): number => (asked > 0 ? used / asked : 0);
const cpuShare = (task: ShuffleTask): number => shareOf(task.cpusUsed!, task.cpus);
const memoryShare = (task: ShuffleTask): number => shareOf(task.memoryBytes, task.memoryMb * bytesPerMb);
const meanShare = (task: ShuffleTask): number => (memoryShare(task) + cpuShare(task)) / 2;
const byId = (a: ShuffleTask, b: ShuffleTask): number => (a.taskId < b.taskId ? -1 : 1);

/** CPU: the task that takes most of what it may comes first. MEMORY: the least busy task, for it is moved most easily. */
const order: Record<Overload['kind'], (a: ShuffleTask, b: ShuffleTask) => number> = {
  CPU: (a, b) => cpuShare(b) - cpuShare(a) || byId(a, b),
  MEMORY: (a, b) => meanShare(a) - meanShare(b) || byId(a, b),
};

function moveOf({ taskId }: ShuffleTask, { slave, kind }: Overload, rules: ShuffleRules): ShuffleMove {
  const { slaveId, usage } = slave;
  if (kind === 'CPU') {
    const load = loadOf(usage, rules.loadMetric).toFixed(2);
    const message = `Load on slave '${slaveId}' is ${load}, more than its ${usage.systemCpusTotal} cores`;
    return { taskId, cleanupType: 'REBALANCE_CPU_USAGE', message };
  }
  const used = percent((usage.systemMemTotalBytes - usage.systemMemFreeBytes) / usage.systemMemTotalBytes);
  const message = `Memory in use on slave '${slaveId}' is ${used}, more than ${percent(rules.memoryTarget)}`;
  return { taskId, cleanupType: 'REBALANCE_MEMORY_USAGE', message };
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
