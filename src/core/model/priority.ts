/** Tasks of requests whose priority is below the minimum are not started. */
export interface PriorityFreeze {
  /** Above 0, at most 1. */
  minimumPriorityLevel: number;
  /** Whether tasks below it that run are killed, too. */
  killTasks: boolean;
  message?: string;
  actionId?: string;
  /** Milliseconds after which it ends by itself; absent: somebody has to end it. */
  durationMillis?: number;
}

/** A freeze in force. */
export interface PriorityFreezeParent {
  priorityFreeze: PriorityFreeze;
  /** Since when, in epoch milliseconds. */
  timestamp: number;
  user?: string;
}
