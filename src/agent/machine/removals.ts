import { statfs } from 'node:fs/promises';
import { type AgentFigures, type RemovalReason, removalReasons } from '../../cluster/cluster-driver.js';

/** What this agent has removed since it began, by reason. */
export class Removals {
  failures = 0;
  /** Epoch millis. */
  lastCleanupAt: number | undefined;
  private readonly byReason = new Map(removalReasons.map((reason) => [reason, { count: 0, bytes: 0 }]));

  note(reason: RemovalReason, bytes: number): void {
    const counted = this.byReason.get(reason)!;
    counted.count++;
    counted.bytes += bytes;
  }

  list(): AgentFigures['removed'] {
    return [...this.byReason].map(([reason, counted]) => ({ reason, ...counted }));
  }

  /** `sandboxes`: the folder of them. */
  async figures(agentId: string, sandboxes: string): Promise<AgentFigures> {
    const { blocks, bfree, bsize } = await statfs(sandboxes);
    return {
      agentId,
      sandboxDiskUsedBytes: (blocks - bfree) * bsize,
      sandboxDiskTotalBytes: blocks * bsize,
      lastCleanupAt: this.lastCleanupAt,
      failures: this.failures,
      removed: this.list(),
    };
  }
}
