import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { placeOf, type Records, uptime } from './records.js';

const lookEveryMillis = 1_000;

export interface ServiceProcess {
  taskId: string;
  pid: number;
  startedAt: number;
  endedAt?: number;
}

/** Two or more live processes of one instance of one deploy, seen by this machine and not by the product. */
export interface Overlap {
  place: string;
  requestId: string;
  from: number;
  until: number;
}

/** Follows the processes of services by their process ids. */
export class ProcessWatch {
  readonly processes: ServiceProcess[] = [];
  readonly overlaps: Overlap[] = [];
  private seen = 0;
  private stopped = false;
  private watching: Promise<void> | undefined;

  constructor(
    private readonly records: Records,
    private readonly isService: (requestId: string) => boolean,
  ) {}

  start(): void {
    this.watching = this.watch();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.watching;
  }

  live(requestId?: string): ServiceProcess[] {
    return this.processes.filter(
      ({ endedAt, taskId }) =>
        endedAt === undefined && (requestId === undefined || placeOf(taskId).requestId === requestId),
    );
  }

  private async watch(): Promise<void> {
    for (; !this.stopped; await delay(lookEveryMillis)) this.look();
  }

  look(): void {
    const marks = this.records.read();
    for (; this.seen < marks.length; this.seen++) {
      const { what, taskId, pid, at } = marks[this.seen]!;
      if (what === 'start' && this.isService(placeOf(taskId).requestId))
        this.processes.push({ taskId, pid, startedAt: at });
    }
    const now = uptime();
    for (const each of this.live()) if (!isTask(each)) each.endedAt = now;
    const byPlace = new Map<string, number>();
    for (const { taskId } of this.live()) {
      const { requestId, deployId, instanceNo } = placeOf(taskId);
      const place = `${requestId} ${deployId} ${instanceNo}`;
      byPlace.set(place, (byPlace.get(place) ?? 0) + 1);
    }
    for (const [place, count] of byPlace) if (count > 1) this.note(place, now);
  }

  private note(place: string, now: number): void {
    const known = this.overlaps.find((each) => each.place === place && now - each.until < 5);
    if (known) known.until = now;
    else this.overlaps.push({ place, requestId: place.split(' ')[0]!, from: now, until: now });
  }
}

/** The process has this id in its environment: another program that got the same process id has not. */
function isTask({ pid, taskId }: ServiceProcess): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`TASK_ID=${taskId}\0`);
  } catch {
    return false;
  }
}
