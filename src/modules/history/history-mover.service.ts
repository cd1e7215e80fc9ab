import { Inject, Injectable, Logger } from '@nestjs/common';
import { hasPassed } from '../../core/elapsed.js';
import { byHalves } from '../../platform/database/by-halves.js';
import { isPassing } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { TaskHistoryMoveRepository } from './task-history-move.repository.js';
import { tellFailure } from '../../platform/tell-failure.js';

/** Moves ended tasks to the history in transactions of their own, which hold nothing that status updates wait for. */
@Injectable()
export class HistoryMover {
  private readonly log = new Logger(HistoryMover.name);

  constructor(
    private readonly db: Database,
    private readonly tasks: TaskHistoryMoveRepository,
  ) {}

  /**
   * Moves tasks to the history and returns their number. A batch that one transaction cannot move is halved until the
   * task at fault is known: that one stays live.
   */
  async move(taskIds: readonly string[]): Promise<number> {
    let moved = 0;
    await byHalves(taskIds, {
      work: async (some) => {
        moved += (await this.db.leaderTransaction((tx) => this.tasks.move(tx, some))).length;
      },
      isAboutItems: (cause) => !isPassing(cause),
      alone: (id, cause) => tellFailure(this.log, `Task '${id}' has ended and cannot be moved to the history`, cause),
    });
    return moved;
  }
}

const batchSize = 500;
/**
 * Looking for what may move reads all live tasks (an index would make every status update slower), and
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
    private readonly tasks: TaskHistoryMoveRepository,
    private readonly mover: HistoryMover,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const everyMs = settings.persistHistoryEverySeconds * 1000;
    pollers.register({ name: 'history', essential: true, everyMs, wakeOn: ['history'], pass: (now) => this.look(now) });
  }

  /** One pass: some batches at once, each in a transaction of its own, until nothing is left that may move. */
  async runOnce(): Promise<void> {
    const { historyPollerConcurrency } = this.settings;
    for (;;) {
      const ids = await this.tasks.movable(this.db.leaderPool, batchSize * historyPollerConcurrency);
      if (ids.length === 0) return;
      const batches = Array.from({ length: Math.ceil(ids.length / batchSize) }, (_, index) =>
        ids.slice(index * batchSize, (index + 1) * batchSize),
      );
      const moved = await Promise.all(batches.map((batch) => this.mover.move(batch)));
      // What does not move now, because it changed meanwhile, is looked at in the next pass.
      if (moved.every((count) => count === 0)) return;
    }
  }

  private async look(now: number): Promise<number | undefined> {
    if (!hasPassed(this.lookedAt, restMillis, now)) return this.lookedAt + restMillis;
    this.lookedAt = now;
    await this.runOnce();
    return undefined;
  }
}
