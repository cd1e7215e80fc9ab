import { Injectable } from '@nestjs/common';
import { groupBy } from '../../../core/group-by.js';
import type { CrashLoopInfo } from '../../../core/model/crash-loop.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError } from '../../../platform/errors.js';
import { RequestRepository } from '../request.repository.js';
import { CrashLoopRepository } from './crash-loop.repository.js';

/** Crash loops as operators see them: those that go on, and those that ended not long ago. */
@Injectable()
export class CrashLoops {
  constructor(
    private readonly database: Database,
    private readonly requests: RequestRepository,
    private readonly loops: CrashLoopRepository,
  ) {}

  /** Newest first. */
  ofRequest(id: string): Promise<CrashLoopInfo[]> {
    return this.database.snapshot(async (tx) => {
      if (!(await this.requests.find(tx, id))) throw SchedulerError.requestNotFound(id);
      return this.loops.find(tx, [id]);
    });
  }

  /** By request id; requests without any are left out. */
  async all(): Promise<Record<string, CrashLoopInfo[]>> {
    const found = await this.loops.find(this.database.pool);
    return Object.fromEntries(groupBy(found, ({ requestId }) => requestId));
  }
}
