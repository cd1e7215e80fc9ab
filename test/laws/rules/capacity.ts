import type { MachineSnapshot } from '../../../src/cluster/cluster-driver.js';
import type { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import type { Sight } from '../world/world.js';
import { isGivenUp } from './course.js';
import { LawBroken } from './law-broken.js';

interface Use {
  taskId: string;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  ports: readonly number[];
}

/**
 * No machine is over-committed in any resource or port: neither by what is written, nor by what really runs, but for what was given up
 * and is being ended since its machine is back.
 */
export function checkCapacity(sight: Sight, cluster: SimulatedCluster): void {
  const written = new Map<string, Use[]>();
  for (const task of sight.tasks.values()) {
    if (task.endedAt !== undefined) continue;
    const { cpus, memoryMb, diskMb, ports } = task;
    add(written, task.slaveId, { taskId: task.taskId.id, cpus, memoryMb, diskMb, ports });
  }
  const running = new Map<string, Use[]>();
  for (const spec of cluster.runningTasks()) {
    const row = sight.tasks.get(spec.taskId);
    if (!row || !isGivenUp(row)) add(running, spec.slaveId, spec);
  }
  for (const slaveId of new Set([...written.keys(), ...running.keys()])) {
    const machine = cluster.findAgent(slaveId)?.machines.get(slaveId);
    if (!machine) continue;
    fits(machine, written.get(slaveId) ?? [], 'is written');
    fits(machine, running.get(slaveId) ?? [], 'runs');
  }
}

function add(uses: Map<string, Use[]>, slaveId: string, use: Use): void {
  const there = uses.get(slaveId);
  if (there) there.push(use);
  else uses.set(slaveId, [use]);
}

const sum = (uses: readonly Use[], pick: (use: Use) => number): number =>
  Math.round(uses.reduce((total, use) => total + pick(use), 0) * 1_000) / 1_000;

function fits(machine: MachineSnapshot, uses: readonly Use[], verb: string): void {
  if (uses.length === 0) return;
  const broken = (what: string) =>
    new LawBroken(
      'No machine is over-committed',
      `more ${what} ${verb} on ${machine.slaveId} than it has: ${uses.map(({ taskId }) => taskId).join(', ')}`,
    );
  if (sum(uses, ({ cpus }) => cpus) > machine.cpus) throw broken('cpu');
  if (sum(uses, ({ memoryMb }) => memoryMb) > machine.memoryMb) throw broken('memory');
  if (sum(uses, ({ diskMb }) => diskMb) > machine.diskMb) throw broken('disk');
  const ports = uses.flatMap((use) => use.ports);
  if (new Set(ports).size < ports.length) throw broken('users of a port');
  if (ports.some((port) => !machine.portRanges.some(({ begin, end }) => port >= begin && port <= end))) {
    throw broken('ports');
  }
}
