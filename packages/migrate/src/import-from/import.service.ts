import { Injectable } from '@nestjs/common';
import { inParallel } from '../../../../src/platform/async.js';
import { Database } from '../../../../src/platform/database/database.js';
import { RequestRepository } from '../../../../src/modules/requests/request.repository.js';
import { HistoryCopy } from './history-copy.service.js';
import { ImportItemRepository } from './import-item.repository.js';
import { ListImport } from './list-import.service.js';
import { type OriginalParent, readParent } from './records.js';
import { type ImportRun, RequestImport, tellDifferences } from './request-import.service.js';
import { problemOf } from './import-report.js';

export interface ImportWishes {
  /** Requests that are taken at once. */
  atOnce: number;
  withHistory: boolean;
  /** Called after each request; what it throws ends the import. */
  progress: (done: number, all: number) => void;
}

/** Takes what another installation has: requests, what happened to them, and the lists beside them. */
@Injectable()
export class Imports {
  constructor(
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly taking: RequestImport,
    private readonly history: HistoryCopy,
    private readonly lists: ListImport,
    private readonly items: ImportItemRepository,
  ) {}

  async run(run: ImportRun, wishes: ImportWishes): Promise<void> {
    const listed = await this.list(run);
    let done = 0;
    await inParallel(
      listed,
      wishes.atOnce,
      async (parent) => {
        const isSame = await this.taking.take(parent, run);
        if (isSame && wishes.withHistory) await this.history.copy(parent.request.id, run);
        wishes.progress(++done, listed.length);
      },
      { stopAtFailure: true },
    );
    await this.lists.take(run);
    if (!run.dryRun) await this.compare(run);
  }

  /** Requests that wait to be handed over. */
  heldIds(): Promise<string[]> {
    return this.items.heldIds(this.db.pool);
  }

  private async list({ original, report }: ImportRun): Promise<OriginalParent[]> {
    return (await original.list('requests')).flatMap((answer) => {
      try {
        return [readParent(answer)];
      } catch (cause) {
        const problem = problemOf(cause);
        if (problem === undefined) throw cause;
        const { request } = answer as { request?: { id?: unknown } };
        report.refuse('requests', `request ${String(request?.id)}`, problem);
        return [];
      }
    });
  }

  /** The lists of both sides, once more and from the beginning. */
  private async compare(run: ImportRun): Promise<void> {
    const { report } = run;
    const theirs = (await run.original.list('requests')).map((answer) => readParent(answer));
    const ours = new Map((await this.requests.findAll(this.db.pool)).map((stored) => [stored.request.id, stored]));
    const held = new Set(await this.heldIds());
    for (const parent of theirs) {
      const { id } = parent.request;
      const here = ours.get(id);
      if (here) tellDifferences(parent, { ...here, held: held.has(id) }, report);
      else report.differs('requests that are there and not here', id);
    }
    const there = new Set(theirs.map(({ request }) => request.id));
    for (const id of ours.keys()) if (!there.has(id)) report.differs('requests that are here and not there', id);
  }
}
