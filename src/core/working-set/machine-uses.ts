import type { ExtendedResources } from '../model/deploy.js';
import type { RequestUtilization } from '../model/usage.js';
import { type MachineView, type ResourceUnits, sumOfExtended, unitsOf, type TaskSnapshot } from '../placement/index.js';
import { amountsOf, probableUsage, type Amounts } from '../usage/index.js';

interface Use {
  units: ResourceUnits;
  /** Number of tasks with each port. */
  ports: Map<number, number>;
  /** Probable use of its tasks, in whole numbers, so that sums do not depend on their order: cpus in thousandths. */
  probable: Amounts;
  tasks: number;
}

/** Resources that tasks take from their machines, by slave id; also for machines that are not seen at present. */
export class MachineUses {
  private readonly bySlave = new Map<string, Use>();

  /** `utilization` is that of its request. */
  add(task: HeldTask, utilization: RequestUtilization | undefined): void {
    this.change(task, utilization, 1);
  }

  /** With the same utilization with which it was added. */
  subtract(task: HeldTask, utilization: RequestUtilization | undefined): void {
    this.change(task, utilization, -1);
  }

  /** `others` are ports in use by something else. */
  of(slaveId: string, others: Iterable<number>): Pick<MachineView, 'used' | 'usedPorts' | 'probable'> {
    const use = this.bySlave.get(slaveId);
    if (!use) return { used: { cpus: 0, memoryMb: 0, diskMb: 0 }, usedPorts: [...others] };
    const { units, ports, probable, tasks } = use;
    return {
      used: {
        cpus: units.cpus / 1_000,
        memoryMb: units.memory / 1_000,
        diskMb: units.disk / 1_000,
        ...(units.extended && { extended: units.extended }),
        tasks,
      },
      usedPorts: [...ports.keys(), ...others],
      probable: { ...probable, cpus: probable.cpus / 1_000 },
    };
  }

  private change(task: HeldTask, utilization: RequestUtilization | undefined, sign: 1 | -1): void {
    const use = this.bySlave.get(task.slaveId) ?? {
      units: { cpus: 0, memory: 0, disk: 0 },
      ports: new Map<number, number>(),
      probable: { cpus: 0, memoryBytes: 0, diskBytes: 0 },
      tasks: 0,
    };
    const units = unitsOf(task);
    use.tasks += sign;
    use.units.cpus += sign * units.cpus;
    use.units.memory += sign * units.memory;
    use.units.disk += sign * units.disk;
    if (units.extended) use.units.extended = sumOfExtended(use.units.extended, units.extended, sign);
    const probable = probableUsage(utilization, amountsOf(task));
    use.probable.cpus += sign * Math.round(probable.cpus * 1_000);
    use.probable.memoryBytes += sign * Math.round(probable.memoryBytes);
    use.probable.diskBytes += sign * Math.round(probable.diskBytes);
    for (const port of task.ports) {
      const count = (use.ports.get(port) ?? 0) + sign;
      if (count > 0) use.ports.set(port, count);
      else use.ports.delete(port);
    }
    if (use.tasks > 0) this.bySlave.set(task.slaveId, use);
    else this.bySlave.delete(task.slaveId);
  }
}

/** An active task with what it takes from its machine. */
export interface HeldTask extends TaskSnapshot {
  requestId: string;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  extended?: ExtendedResources;
  ports: readonly number[];
  /** From when its limits run, where that is not its start (epoch milliseconds). */
  countsSince?: number;
}
