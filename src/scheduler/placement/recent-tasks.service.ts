import { Injectable } from '@nestjs/common';

/** Longer than any clock is set back or any launch takes to be taken back. */
const rememberMillis = 60_000;

/** What this leader did a short while ago and its rows may no longer show. */
@Injectable()
export class RecentTasks {
  private readonly ids = new Map<string, number>();
  private readonly ports = new Map<string, Map<number, number>>();

  /** A task id is bound to one launch for ever, also when that launch was taken back. */
  used(taskIds: readonly string[], now: number): void {
    for (const id of taskIds) this.ids.set(id, now);
  }

  usedIds(now: number): ReadonlySet<string> {
    forget(this.ids, now);
    return new Set(this.ids.keys());
  }

  /** The machine found the port taken by something that is no task of ours. */
  portTaken(slaveId: string, port: number, now: number): void {
    const ports = this.ports.get(slaveId) ?? new Map<number, number>();
    this.ports.set(slaveId, ports.set(port, now));
  }

  takenPorts(slaveId: string, now: number): number[] {
    const ports = this.ports.get(slaveId);
    if (!ports) return [];
    forget(ports, now);
    return [...ports.keys()];
  }
}

function forget(since: Map<unknown, number>, now: number): void {
  for (const [key, at] of since) if (now - at > rememberMillis) since.delete(key);
}
