import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { HistoryMover } from './history-mover.service.js';
import { TaskHistoryWriter } from './task-history-writer.service.js';

const batchSize = 500;
/**
 * Looking for what may move reads all live tasks (no index can help: it would make every status update dearer), and
 * tasks may end hundreds of times a second. Most moved when they ended; the few others can wait this long.
 */
const restMillis = 1_000;

/**
 * Moves ended tasks to the history that could not go there when they ended: those of a deploy that was pending, those
 * that might have come back with their machine, and those a crash left behind.
 */
@Injectable()
export class HistoryPoller {
  private lookedAt = 0;

  constructor(
    private readonly db: Database,
    private readonly writer: TaskHistoryWriter,
    private readonly mover: HistoryMover,
    pollers: Pollers,
    @Inject(SETTINGS) { persistHistoryEverySeconds }: Settings,
  ) {
    const everyMs = persistHistoryEverySeconds * 1000;
    pollers.register({ name: 'history', everyMs, wakeOn: ['history'], pass: (now) => this.look(now) });
  }

  /** One pass: batch after batch, each in a transaction of its own, until nothing is left that may move. */
  async runOnce(): Promise<void> {
    for (;;) {
      const ids = await this.writer.movable(this.db.leaderSource.manager, batchSize);
      if (ids.length === 0) return;
      // What does not move now, because somebody changed it meanwhile, is looked at in the next pass.
      if ((await this.mover.move(ids)) === 0) return;
    }
  }

  private async look(now: number): Promise<number | undefined> {
    if (now < this.lookedAt + restMillis) return this.lookedAt + restMillis;
    this.lookedAt = now;
    await this.runOnce();
    return undefined;
  }
}
