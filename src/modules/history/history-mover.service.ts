import { Injectable, Logger } from '@nestjs/common';
import { isPassing } from '../../platform/database/is-passing.js';
import { Database } from '../../platform/database/database.js';
import { TaskHistoryWriter } from './task-history-writer.service.js';

/** Moves ended tasks to the history in transactions of their own, which hold nothing that status updates wait for. */
@Injectable()
export class HistoryMover {
  private readonly log = new Logger(HistoryMover.name);

  constructor(
    private readonly db: Database,
    private readonly writer: TaskHistoryWriter,
  ) {}

  /** What one transaction cannot take is halved until it is known which task it is: that one stays live. Answers how many moved. */
  async move(taskIds: readonly string[]): Promise<number> {
    if (taskIds.length === 0) return 0;
    try {
      return (await this.db.leaderTransaction((tx) => this.writer.move(tx, taskIds))).length;
    } catch (cause) {
      if (isPassing(cause)) throw cause;
      if (taskIds.length === 1) {
        this.log.error(`Task '${taskIds[0]}' has ended and cannot be moved to the history: ${String(cause)}`, cause);
        return 0;
      }
      const half = Math.ceil(taskIds.length / 2);
      return (await this.move(taskIds.slice(0, half))) + (await this.move(taskIds.slice(half)));
    }
  }
}
