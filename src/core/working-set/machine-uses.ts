import { unitsOf, type MachineView, type Units } from '../placement/index.js';
import type { HeldTask } from './working-set.js';

/** What tasks take from their machines, by slave id; also of machines that are not seen at present. */
export class MachineUses {
  private readonly bySlave = new Map<string, { units: Units; ports: Map<number, number>; tasks: number }>();

  add(task: HeldTask): void {
    this.change(task, 1);
  }

  subtract(task: HeldTask): void {
    this.change(task, -1);
  }

  /** `others` are ports in use by something else. */
  of(slaveId: string, others: Iterable<number>): Pick<MachineView, 'used' | 'usedPorts'> {
    const use = this.bySlave.get(slaveId);
    if (!use) return { used: { cpus: 0, memoryMb: 0, diskMb: 0 }, usedPorts: [...others] };
    const { units, ports } = use;
    return {
      used: { cpus: units.cpus / 1_000, memoryMb: units.memory / 1_000, diskMb: units.disk / 1_000 },
      usedPorts: [...ports.keys(), ...others],
    };
  }

  private change(task: HeldTask, sign: 1 | -1): void {
    const use = this.bySlave.get(task.slaveId) ?? {
      units: { cpus: 0, memory: 0, disk: 0 },
      ports: new Map<number, number>(),
      tasks: 0,
    };
    const units = unitsOf(task);
    use.tasks += sign;
    use.units.cpus += sign * units.cpus;
    use.units.memory += sign * units.memory;
    use.units.disk += sign * units.disk;
    for (const port of task.ports) {
      const count = (use.ports.get(port) ?? 0) + sign;
      if (count > 0) use.ports.set(port, count);
      else use.ports.delete(port);
    }
    if (use.tasks > 0) this.bySlave.set(task.slaveId, use);
    else this.bySlave.delete(task.slaveId);
  }
}
