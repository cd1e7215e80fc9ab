import type { PendingRequest, PendingTask, PendingTaskId } from '../model/task.js';
import { makePendingTaskId } from '../task-id.js';

type Parts = Omit<PendingTaskId, 'id' | 'createdAt'>;

/** Makes pending tasks of one request, each with an id that no other has, and with the flow that it begins. */
export class PendingTaskMaker {
  private readonly made: Set<string>;
  /** By the rest of an id: from a time that is taken to the first after it that may be free. */
  private readonly laterTimes = new Map<string, Map<number, number>>();

  constructor(
    /** Whether a task that was there before has this id. */
    private readonly isTaken: (id: string, parts: Parts) => boolean,
    /** Gives the id of a flow. Absent: no request follows this one. */
    private readonly newFlowId?: () => string,
    kept: readonly PendingTask[] = [],
  ) {
    this.made = new Set(kept.map(({ pendingTaskId }) => pendingTaskId.id));
  }

  /** `createdAt` moves to the first millisecond whose id is free: two runs that share one would be one run. */
  make(parts: Parts, createdAt: number, details: Omit<PendingTask, 'pendingTaskId'>): PendingTask {
    const key = JSON.stringify(parts);
    // What was found taken is not looked at again: thousands may have come in few milliseconds.
    const later = this.laterTimes.get(key) ?? new Map<number, number>();
    this.laterTimes.set(key, later);
    const seen: number[] = [];
    for (let time = createdAt; ; time = later.get(time) ?? time + 1) {
      seen.push(time);
      if (later.has(time)) continue;
      const pendingTaskId = makePendingTaskId({ ...parts, createdAt: time });
      if (this.made.has(pendingTaskId.id) || this.isTaken(pendingTaskId.id, parts)) continue;
      this.made.add(pendingTaskId.id);
      for (const each of seen) later.set(each, time + 1);
      return { pendingTaskId, ...details, flowId: this.flowOf(details) };
    }
  }

  private flowOf({ flowId, triggersFollowers }: Omit<PendingTask, 'pendingTaskId'>): string | undefined {
    return flowId ?? (triggersFollowers === false ? undefined : this.newFlowId?.());
  }
}

/** Fields that a pending task takes over from its entry. */
export function inherited(entry: PendingRequest): Omit<PendingTask, 'pendingTaskId'> {
  return {
    trigger: entry.trigger,
    scheduledAt: entry.scheduledAt,
    attempt: entry.attempt,
    flowId: entry.flowId,
    parentRuns: entry.parentRuns,
    cmdLineArgsList: entry.cmdLineArgsList,
    user: entry.user,
    runId: entry.runId,
    skipHealthchecks: entry.skipHealthchecks,
    message: entry.message,
    resources: entry.resources,
    objstoreUploaderAdditionalFiles: entry.objstoreUploaderAdditionalFiles ?? [],
    runAsUserOverride: entry.runAsUserOverride,
    envOverrides: entry.envOverrides ?? {},
    requiredSlaveAttributeOverrides: entry.requiredSlaveAttributeOverrides ?? {},
    allowedSlaveAttributeOverrides: entry.allowedSlaveAttributeOverrides ?? {},
    extraArtifacts: entry.extraArtifacts ?? [],
    actionId: entry.actionId,
    retries: entry.retries,
    askedAt: entry.askedAt,
    triggersFollowers: entry.triggersFollowers,
  };
}
