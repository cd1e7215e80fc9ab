import type { Leadership } from '../../../platform/leadership/leadership.js';
import type { Poller, PollerOptions } from '../../../platform/poller/poller.js';
import type { Pollers } from '../../../platform/poller/pollers.js';
import type { CheckedTask } from './checked-tasks.service.js';
import type { Cancel } from './timed-queue.js';

/** A task that may need checks, as it was read from the rows. */
export interface TaskWatch {
  task: CheckedTask;
  /** Version of its request's row when the task was read: a higher one means that something else may hold by now. */
  version: number;
  ending: AbortController;
  /** Takes the planned check back; absent: none is planned. */
  cancel?: Cancel;
}

/** The tasks that a monitor has checked, on the leader alone. */
export class TaskWatches<W extends TaskWatch> {
  private readonly watches = new Map<string, W>();

  /** The pass of the monitor looks for tasks; none is watched when this instance leads no more. */
  lead(pollers: Pollers, leadership: Leadership, options: PollerOptions, lost = () => this.forgetAll()): Poller {
    const poller = pollers.register(options);
    leadership.register({
      name: options.name,
      gained: () => Promise.resolve(poller.wake()),
      lost: () => Promise.resolve(lost()),
    });
    return poller;
  }

  get(id: string): W | undefined {
    return this.watches.get(id);
  }

  all(): Iterable<W> {
    return this.watches.values();
  }

  set(watch: W): void {
    this.watches.set(watch.task.live.taskId.id, watch);
  }

  /** Forgets all but these. */
  keep(wanted: ReadonlyMap<string, unknown>): void {
    for (const id of this.watches.keys()) if (!wanted.has(id)) this.forget(id);
  }

  forget(id: string): void {
    const watch = this.watches.get(id);
    if (!watch) return;
    watch.cancel?.();
    watch.ending.abort();
    this.watches.delete(id);
  }

  forgetAll(): void {
    for (const id of this.watches.keys()) this.forget(id);
  }
}
