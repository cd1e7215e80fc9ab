import { Inject, Injectable } from '@nestjs/common';
import { firstCheckAt } from '../../core/requests/run-times.js';
import type { Request } from '../../core/model/request.js';
import type { TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { type HeldTask, RunChecks } from '../../core/working-set/index.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import type { LoadedRequest } from './loaded-request.js';

/**
 * Times at which the run times of jobs are checked. Derived from the rows of tasks and requests with the working set,
 * and as it: all of them when it is loaded, those of a request when that is read again, one when it is placed or ends.
 * So a change of a limit holds at once, another leader knows them from its first round on, and tasks without a limit
 * take nothing. Each moment is no later than the one that counts; the rows are asked then.
 */
@Injectable()
export class RunTimes {
  private readonly checks = new RunChecks();
  private readonly ofRequest = new Map<string, Set<string>>();
  /** Time of the poller's next check. */
  private plannedAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** After the commit. */
  placed({ id, requestId, startedAt }: TaskId, request: Request): void {
    this.check(requestId, id, firstCheckAt(request, startedAt, this.settings));
  }

  /** After the commit. */
  ended(tasks: Iterable<Pick<TaskId, 'id' | 'requestId'>>): void {
    for (const { id, requestId } of tasks) this.check(requestId, id, undefined);
  }

  /** As the rows are; `whole`: these are all requests there are. */
  read(requests: Iterable<LoadedRequest>, whole: boolean): void {
    if (whole) {
      this.checks.clear();
      this.ofRequest.clear();
      this.plannedAt = Number.POSITIVE_INFINITY;
    }
    for (const { id, request, tasks } of requests) {
      for (const taskId of this.ofRequest.get(id) ?? []) this.check(id, taskId, undefined);
      if (request) for (const task of tasks) this.check(id, task.taskId.id, this.firstCheck(request.request, task));
    }
  }

  takeDue(now: number, most: number): string[] {
    return this.checks.takeDue(now, most);
  }

  /** Sets the next check of a task after one. */
  checkAgain(requestId: string, taskId: string, at: number | undefined): void {
    this.check(requestId, taskId, at);
  }

  /** Returns the time of the poller's next check: an earlier one wakes it. */
  plan(): number | undefined {
    const next = this.checks.nextAt();
    this.plannedAt = next ?? Number.POSITIVE_INFINITY;
    return next;
  }

  private firstCheck(request: Request, { taskId, cleaning, killed, countsSince }: HeldTask): number | undefined {
    const startedAt = cleaning || killed ? undefined : (countsSince ?? parseTaskId(taskId.id)?.startedAt);
    return startedAt === undefined ? undefined : firstCheckAt(request, startedAt, this.settings);
  }

  private check(requestId: string, taskId: string, at: number | undefined): void {
    const own = this.ofRequest.get(requestId);
    if (at === undefined) {
      if (own?.delete(taskId) && own.size === 0) this.ofRequest.delete(requestId);
    } else if (own) own.add(taskId);
    else this.ofRequest.set(requestId, new Set([taskId]));
    this.checks.put(taskId, at);
    if (at === undefined || at >= this.plannedAt) return;
    this.plannedAt = at;
    this.wake.signalHere('jobs', []);
  }
}
