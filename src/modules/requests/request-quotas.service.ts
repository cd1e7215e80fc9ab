import { Inject, Injectable } from '@nestjs/common';
import type { FieldError } from '../../core/field-error.js';
import type { Request } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { PendingRequestRepository } from '../tasks/pending-request.repository.js';
import { bytesOfMb } from '../../platform/files.js';
import { type QuotaUse, RequestQuotaRepository } from './request-quota.repository.js';

/**
 * Time for which a count holds far from the limit: to count is cheap, but not for each of hundreds of calls a second.
 */
const keptMillis = 1_000;
/** Calls that are answered at a time, each of which may have counted before the others were through. */
const mostAtOnce = 1_000;
/** Records up to this size are limited by their number alone: most calls need not ask for the bytes of the group. */
const smallRecordBytes = 4_096;
/** Groups whose count is kept. */
const mostKept = 10_000;

interface CachedUse extends QuotaUse {
  at: number;
}

/** Limits requests and waiting runs of a group, by number and by bytes. Requests without a group count as one. */
@Injectable()
export class RequestQuotas {
  private readonly requestUses = new Map<string, CachedUse>();
  private readonly recordUses = new Map<string, CachedUse>();
  private readonly runUses = new Map<string, CachedUse>();

  constructor(
    private readonly quotas: RequestQuotaRepository,
    private readonly queue: PendingRequestRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Before a request comes to its group, in the transaction that has it come, or that begins the deploy which does. */
  async refuseRequest(tx: Queryable, { id, group }: Request): Promise<void> {
    const most = this.settings.maxRequestsPerGroup;
    const limit = { count: most, bytes: Number.POSITIVE_INFINITY };
    const { count } = await this.use(tx, group, limit, this.requestUses, () => this.quotas.requests(tx, group, id));
    if (count < most) return;
    const message = `group: ${nameOf(group)} has ${count} requests, and may have ${most} (maxRequestsPerGroup)`;
    throw SchedulerError.invalid('INVALID_REQUEST', [{ field: 'group', rule: 'quota', message }]);
  }

  /**
   * Why the group of `request`, which is `former` now, has no room for a record of so many bytes: the request, its deploy, or both.
   * `formerBytes`: of the record whose place it takes; one that does not grow may be saved where there is no room.
   */
  async bytesProblem(
    tx: Queryable,
    field: string,
    { request: { id, group }, former }: { request: Request; former: Request | undefined },
    { bytes, formerBytes = 0 }: { bytes: number; formerBytes?: number },
  ): Promise<FieldError | undefined> {
    const isMoved = former !== undefined && former.group !== group;
    if (!isMoved && bytes <= Math.max(smallRecordBytes, formerBytes)) return undefined;
    const added = bytes - formerBytes;
    const megabytes = this.settings.maxRecordMegabytesPerGroup;
    const limit = { count: Number.POSITIVE_INFINITY, bytes: bytesOfMb(megabytes) };
    const use = await this.use(tx, group, limit, this.recordUses, () => this.quotas.records(tx, group, id));
    if (use.bytes + added <= limit.bytes) {
      // One that is kept knows what came meanwhile.
      use.bytes += Math.max(0, added);
      return undefined;
    }
    const message = `${field}: requests of ${nameOf(group)} and their deploys together would take more than ${megabytes} MB (maxRecordMegabytesPerGroup)`;
    return { field, rule: 'quota', message };
  }

  /** For how many more runs of a request, whose row is locked in `tx`, there is room, and what refuses the next one. */
  async roomForRuns(tx: Transaction, { id, group }: Request): Promise<{ room: number; refusal: string }> {
    const {
      maxPendingRunsPerRequest: most,
      maxPendingRunsPerGroup: mostOfGroup,
      maxPendingRunMegabytesPerGroup: megabytes,
    } = this.settings;
    const own = (await this.queue.runsOf(tx, [id])).get(id)!;
    const limit = { count: mostOfGroup, bytes: bytesOfMb(megabytes) };
    const all = await this.use(tx, group, limit, this.runUses, () => this.quotas.runs(tx, group));
    if (all.bytes >= limit.bytes) {
      const refusal = `Waiting runs of ${nameOf(group)} take as much as may be, ${megabytes} MB (maxPendingRunMegabytesPerGroup)`;
      return { room: 0, refusal };
    }
    if (most - own <= mostOfGroup - all.count) {
      const refusal = `Request '${id}' has as many waiting runs as may be, ${most} (maxPendingRunsPerRequest)`;
      return { room: most - own, refusal };
    }
    const refusal = `Requests of ${nameOf(group)} have as many waiting runs as may be, ${mostOfGroup} (maxPendingRunsPerGroup)`;
    return { room: mostOfGroup - all.count, refusal };
  }

  /** Before half of the limit is reached the calls of a group begin to take turns, so that no two of them get the last place. */
  private async use(
    tx: Queryable,
    group: string | undefined,
    limit: QuotaUse,
    kept: Map<string, CachedUse>,
    measure: () => Promise<QuotaUse>,
  ): Promise<QuotaUse> {
    const key = JSON.stringify(group ?? null);
    const isFar = ({ count, bytes }: QuotaUse): boolean =>
      count < limit.count / 2 - mostAtOnce && bytes < limit.bytes / 2;
    const known = kept.get(key);
    if (known && isFar(known) && performance.now() - known.at < keptMillis) return known;
    const found = await measure();
    if (kept.size >= mostKept) kept.clear();
    const cached = { ...found, at: performance.now() };
    kept.set(key, cached);
    if (isFar(cached)) return cached;
    await this.quotas.lockGroup(tx, group);
    return measure();
  }
}

const nameOf = (group: string | undefined): string => (group === undefined ? 'those that name no group' : `'${group}'`);
