import { Injectable } from '@nestjs/common';
import type { TaskId } from '../../core/model/task.js';

/** Longer than any launch takes to be taken back. */
const rememberMillis = 60_000;

/** Recent actions of this leader that its rows may no longer show. */
@Injectable()
export class RecentTasks {
  /** Time at which each id was assigned, oldest first. */
  private readonly ids = new Map<string, number>();
  private latestStart = 0;
  /** By slave id: ports, and since when each is taken. */
  private readonly ports = new Map<string, Map<number, number>>();
  private readonly changed = new Set<string>();

  /** A task id stays bound to one launch, also when that launch was taken back. */
  used({ id, startedAt }: Pick<TaskId, 'id' | 'startedAt'>, now: number): void {
    this.ids.set(id, now);
    this.startedUpTo(startedAt);
  }

  /** Ids of later starts are new. Others may be those of former tasks: a clock was set back, or a former leader's was ahead. */
  get mayBeUsedUpTo(): number {
    return this.latestStart;
  }

  /** Tasks of former leaders began up to that time. */
  startedUpTo(time: number): void {
    this.latestStart = Math.max(this.latestStart, time);
  }

  usedIds(now: number): Pick<ReadonlySet<string>, 'has'> {
    for (const [id, at] of this.ids) {
      if (now - at <= rememberMillis) break;
      this.ids.delete(id);
    }
    return this.ids;
  }

  /** The machine found the port taken by something that is no task of ours. */
  portTaken(slaveId: string, port: number, now: number): void {
    const ports = this.ports.get(slaveId) ?? new Map<number, number>();
    this.ports.set(slaveId, ports.set(port, now));
    this.changed.add(slaveId);
  }

  takenPorts(slaveId: string): number[] {
    return [...(this.ports.get(slaveId)?.keys() ?? [])];
  }

  /** Slaves whose taken ports changed since it was asked last; forgets those that were taken long ago. */
  takeChangedSlaves(now: number): string[] {
    for (const [slaveId, ports] of this.ports) {
      for (const [port, since] of ports) {
        if (now - since <= rememberMillis) continue;
        ports.delete(port);
        this.changed.add(slaveId);
      }
      if (ports.size === 0) this.ports.delete(slaveId);
    }
    const changed = [...this.changed];
    this.changed.clear();
    return changed;
  }
}
