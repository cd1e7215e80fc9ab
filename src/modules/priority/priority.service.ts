import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { PriorityFreeze, PriorityFreezeParent } from '../../core/model/state.js';
import { freezeProblem } from '../../core/placement/index.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { Wake } from '../../platform/wake/wake.js';
import { PriorityFreezeRepository, type StoredFreeze } from './priority-freeze.repository.js';

/** Operators set, show and end the priority freeze. */
@Injectable()
export class PriorityService {
  constructor(
    private readonly db: Database,
    private readonly freezes: PriorityFreezeRepository,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  async find(): Promise<PriorityFreezeParent> {
    const found = await this.freezes.find(this.db.pool);
    if (!found) throw new SchedulerError('NOT_FOUND', 'No priority freeze is in force');
    return shown(found);
  }

  async freeze(freeze: PriorityFreeze, { email: user }: Caller): Promise<PriorityFreezeParent> {
    const problem = freezeProblem(freeze);
    if (problem) throw SchedulerError.invalid('INVALID_REQUEST', [problem]);
    const stored: StoredFreeze = {
      priorityFreeze: { ...freeze, actionId: freeze.actionId ?? randomUUID() },
      timestamp: this.clock.now(),
      user,
      killWanted: freeze.killTasks,
    };
    await this.db.transaction((tx) => this.freezes.save(tx, stored));
    // A lower level than before lets tasks go; a time limit has to be watched.
    this.wake.signal('scheduler', 'expiring');
    return shown(stored);
  }

  async end(): Promise<void> {
    const ended = await this.db.transaction((tx) => this.freezes.remove(tx));
    if (!ended) throw new SchedulerError('INVALID_REQUEST', 'There is no priority freeze in force to delete');
    this.wake.signal('scheduler');
  }
}

const shown = ({ priorityFreeze, timestamp, user }: StoredFreeze): PriorityFreezeParent => ({
  priorityFreeze,
  timestamp,
  user,
});
