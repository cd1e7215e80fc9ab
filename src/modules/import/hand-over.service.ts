import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { matches } from '../../core/import/index.js';
import { inParallel } from '../../platform/async.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Wake } from '../../platform/wake/wake.js';
import { Pauses } from '../requests/actions/pauses.service.js';
import { RequestRepository } from '../requests/request.repository.js';
import { HistoryCopy } from './history-copy.service.js';
import { ImportItemRepository } from './import-item.repository.js';
import { readParent, type OriginalParent } from './records.js';
import { fingerprintOf, type ImportRun, importUser, RequestImport } from './request-import.service.js';

export interface HandOverWishes {
  /** Ids, in which `*` stands for any characters and `?` for one. */
  pattern: string;
  /** Pause it there first, which ends its tasks there. */
  pauseSource: boolean;
  /** It may run there and here at the same time. */
  sideBySide: boolean;
  /** How long tasks that still run there are waited for. */
  waitMillis: number;
  atOnce: number;
  say: (line: string) => void;
  /** Called after each request; what it throws ends the work. */
  progress: () => void;
}

const lookEveryMillis = 500;
const changedHere = 'it was changed here since it was taken: unpause it here when the original runs it no more';

/** Hands requests over that were taken and held: from then on they run here. */
@Injectable()
export class HandOver {
  constructor(
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly items: ImportItemRepository,
    private readonly taking: RequestImport,
    private readonly history: HistoryCopy,
    private readonly pauses: Pauses,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /** Answers how many were handed over, and how many stay as they are; of these it is said why. */
  async run(run: ImportRun, wishes: HandOverWishes): Promise<{ done: number; left: number }> {
    const held = await this.items.heldIds(this.db.manager);
    const wanted = held.filter((id) => matches(wishes.pattern, id));
    const results = await inParallel(
      wanted,
      wishes.atOnce,
      async (id) => {
        const obstacle = await this.handOver(id, run, wishes);
        wishes.say(
          obstacle === undefined
            ? `${run.dryRun ? 'would hand over' : 'handed over'}: ${id}`
            : `stays held: ${id}: ${obstacle}`,
        );
        wishes.progress();
        return obstacle === undefined;
      },
      { stopAtFailure: true },
    );
    const done = results.filter(Boolean).length;
    return { done, left: wanted.length - done };
  }

  /** undefined: it runs here now; else why not. */
  private async handOver(id: string, run: ImportRun, wishes: HandOverWishes): Promise<string | undefined> {
    const before = await this.look(id, run);
    const obstacle = before && (await this.obstacle(before, run, wishes));
    if (obstacle !== undefined) return obstacle;
    if (run.dryRun) return undefined;
    if (before && isRunning(before) && wishes.pauseSource) {
      const message = 'Handed over to Muster';
      await run.original.post(`requests/request/${encodeURIComponent(id)}/pause`, { message, killTasks: true });
    }
    if (!wishes.sideBySide) {
      const left = await this.tasksThatStay(id, run, wishes.waitMillis);
      if (left > 0) return `${left} of its tasks still run there; run this again when they have ended`;
    }
    const paused = await this.look(id, run);
    if (paused && isRunning(paused) && !wishes.sideBySide) return `it is ${paused.state} there again`;
    if (paused) {
      await this.taking.take(paused, run);
      await this.history.copy(id, run);
    }
    return this.begin(id);
  }

  /** undefined: it is gone there. */
  private async look(id: string, { original }: ImportRun): Promise<OriginalParent | undefined> {
    const answer = await original.find(`requests/request/${encodeURIComponent(id)}`);
    return answer === undefined ? undefined : readParent(answer);
  }

  private async obstacle(there: OriginalParent, run: ImportRun, wishes: HandOverWishes): Promise<string | undefined> {
    const { id } = there.request;
    const { activeDeploy, pendingDeploy } = there.requestDeployState ?? {};
    if (there.state === 'DELETING') return 'it is being deleted there';
    if (pendingDeploy) return `deploy ${pendingDeploy.deployId} is in progress there`;
    if (isRunning(there) && !wishes.pauseSource && !wishes.sideBySide) {
      return `it is ${there.state} there: pause it there, or add --pause-source (or --side-by-side)`;
    }
    await this.taking.take(there, run);
    if (run.dryRun) return undefined;
    const item = await this.items.find(this.db.manager, 'REQUEST', id);
    const stored = await this.requests.find(this.db.manager, id);
    if (stored?.version !== item?.version) return changedHere;
    if (item?.fingerprint !== fingerprintOf(there)) return 'as it is there now it is refused here';
    return activeDeploy && !stored?.activeDeployId ? 'its active deploy is refused here: deploy it here' : undefined;
  }

  private async tasksThatStay(id: string, { original }: ImportRun, waitMillis: number): Promise<number> {
    const until = performance.now() + waitMillis;
    for (;;) {
      const running = await original.list(`history/request/${encodeURIComponent(id)}/tasks/active`);
      if (running.length === 0 || performance.now() > until) return running.length;
      await delay(lookEveryMillis);
    }
  }

  private async begin(id: string): Promise<string | undefined> {
    const obstacle = await this.db.transaction(async (tx) => {
      const stored = await this.requests.lock(tx, id);
      const item = await this.items.find(tx, 'REQUEST', id);
      if (!stored || !item?.held) return 'it is not held any more';
      if (stored.version !== item.version || stored.state !== 'PAUSED') return changedHere;
      const now = this.clock.now();
      await this.pauses.endPause(tx, stored, { now, user: importUser, options: { message: 'Handed over' } });
      await this.items.noteHandedOver(tx, id, now);
      return undefined;
    });
    if (obstacle === undefined) this.wake.signalOf([id], 'scheduler', 'webhooks');
    return obstacle;
  }
}

const isRunning = ({ state }: OriginalParent): boolean => state !== 'PAUSED' && state !== 'FINISHED';
