import { Inject, Injectable } from '@nestjs/common';
import type { Request } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { PendingRequestRepository } from '../tasks/pending-request.repository.js';
import { RequestQuotaRepository } from './request-quota.repository.js';

/**
 * Time for which a count holds far from the limit: to count is cheap, but not for each of hundreds of calls a second.
 */
const keptMillis = 1_000;
/** Calls that are answered at a time, each of which may have counted before the others were through. */
const mostAtOnce = 1_000;
/** Groups whose count is kept. */
const mostKept = 10_000;

interface CachedCount {
  count: number;
  at: number;
}

/** Limits the number of requests, and of waiting runs, of a group. Requests without a group count as one. */
@Injectable()
export class RequestQuotas {
  private readonly requestCounts = new Map<string, CachedCount>();
  private readonly runCounts = new Map<string, CachedCount>();

  constructor(
    private readonly quotas: RequestQuotaRepository,
    private readonly queue: PendingRequestRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Before a request comes to a group, in the transaction that has it come. */
  async refuseRequest(tx: Queryable, group: string | undefined): Promise<void> {
    const most = this.settings.maxRequestsPerGroup;
    const count = await this.count(tx, group, most, this.requestCounts, () => this.quotas.requests(tx, group));
    if (count < most) return;
    const message = `group: ${nameOf(group)} has ${count} requests, and may have ${most} (maxRequestsPerGroup)`;
    throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'group', rule: 'quota', message }]);
  }

  /** For how many more runs of a request, whose row is locked in `tx`, there is room, and what refuses the next one. */
  async roomForRuns(tx: Transaction, { id, group }: Request): Promise<{ room: number; refusal: string }> {
    const { maxPendingRunsPerRequest: most, maxPendingRunsPerGroup: mostOfGroup } = this.settings;
    const own = (await this.queue.runsOf(tx, [id])).get(id)!;
    const all = await this.count(tx, group, mostOfGroup, this.runCounts, () => this.quotas.runs(tx, group));
    if (most - own <= mostOfGroup - all) {
      const refusal = `Request '${id}' has as many waiting runs as may be, ${most} (maxPendingRunsPerRequest)`;
      return { room: most - own, refusal };
    }
    const refusal = `Requests of ${nameOf(group)} have as many waiting runs as may be, ${mostOfGroup} (maxPendingRunsPerGroup)`;
    return { room: mostOfGroup - all, refusal };
  }

  /** Before half of the limit is reached the calls of a group begin to take turns, so that no two of them get the last place. */
  private async count(
    tx: Queryable,
    group: string | undefined,
    most: number,
    kept: Map<string, CachedCount>,
    count: () => Promise<number>,
  ): Promise<number> {
    const key = JSON.stringify(group ?? null);
    const far = most / 2 - mostAtOnce;
    const known = kept.get(key);
    if (known && known.count < far && performance.now() - known.at < keptMillis) return known.count;
    const found = await count();
    if (kept.size >= mostKept) kept.clear();
    kept.set(key, { count: found, at: performance.now() });
    if (found < far) return found;
    await this.quotas.lockGroup(tx, group);
    return count();
  }
}

const nameOf = (group: string | undefined): string => (group === undefined ? 'those that name no group' : `'${group}'`);
