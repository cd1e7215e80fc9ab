import { Inject, Injectable } from '@nestjs/common';
import { refuseGroupId } from '../../../core/requests/check-index.js';
import { isSameWindows, pastWindowsProblem, readDeployWindows } from '../../../core/schedules/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError } from '../../../platform/errors.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { RequestGroupDto } from './request-group.dto.js';
import type { RequestGroupEntity } from './request-group.entity.js';
import { RequestGroupRepository } from './request-group.repository.js';

type SentGroup = Pick<RequestGroupEntity, 'id' | 'requestIds' | 'deployWindows'> & Partial<RequestGroupEntity>;

/** Requests that operators say belong together. Their deploys heed the windows of the group; nothing else in the service reads it. */
@Injectable()
export class RequestGroupsService {
  constructor(
    private readonly db: Database,
    private readonly groups: RequestGroupRepository,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async list(): Promise<RequestGroupDto[]> {
    return (await this.groups.list(this.db.pool)).map(told);
  }

  async one(id: string): Promise<RequestGroupDto> {
    const group = await this.groups.find(this.db.pool, id);
    if (!group) throw SchedulerError.groupNotFound(id);
    return told(group);
  }

  async save({ id, requestIds, metadata = {}, deployWindows }: SentGroup): Promise<RequestGroupDto> {
    const problems = [refuseGroupId(id, this.settings) ?? [], readDeployWindows({ id, deployWindows }).errors].flat();
    if (problems.length > 0) throw SchedulerError.invalid('INVALID_REQUEST', problems);
    const group = { id, requestIds, metadata, deployWindows };
    await this.db.transaction(async (tx) => {
      await this.groups.lockId(tx, id);
      const stored = (await this.groups.find(tx, id)) ?? undefined;
      const now = this.clock.now();
      const past = pastWindowsProblem(group, stored, now);
      if (past) throw SchedulerError.invalid('INVALID_REQUEST', [past]);
      const since = stored && isSameWindows(group, stored) ? stored.windowsSince : now;
      await this.groups.save(tx, { ...group, windowsSince: deployWindows && since });
    });
    return told(group);
  }

  remove(id: string): Promise<void> {
    return this.db.transaction((tx) => this.groups.remove(tx, id));
  }
}

const told = ({ id, requestIds, metadata, deployWindows }: RequestGroupEntity): RequestGroupDto => ({
  id,
  requestIds,
  metadata,
  ...(deployWindows && { deployWindows }),
});
