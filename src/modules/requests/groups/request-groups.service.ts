import { Inject, Injectable } from '@nestjs/common';
import { refuseGroupId } from '../../../core/requests/check-index.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError } from '../../../platform/errors.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { RequestGroupEntity } from './request-group.entity.js';
import { RequestGroupRepository } from './request-group.repository.js';

/** Keeps which requests operators say belong together. Nothing else in the service reads it. */
@Injectable()
export class RequestGroupsService {
  constructor(
    private readonly db: Database,
    private readonly groups: RequestGroupRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  list(): Promise<RequestGroupEntity[]> {
    return this.groups.list(this.db.pool);
  }

  async one(id: string): Promise<RequestGroupEntity> {
    const group = await this.groups.find(this.db.pool, id);
    if (!group) throw SchedulerError.groupNotFound(id);
    return group;
  }

  async save(sent: Omit<RequestGroupEntity, 'metadata'> & Partial<RequestGroupEntity>): Promise<RequestGroupEntity> {
    const problem = refuseGroupId(sent.id, this.settings);
    if (problem) throw SchedulerError.invalid('INVALID_REQUEST', [problem]);
    const { id, requestIds, metadata = {} } = sent;
    const group = { id, requestIds, metadata };
    await this.db.transaction((tx) => this.groups.save(tx, group));
    return group;
  }

  remove(id: string): Promise<void> {
    return this.db.transaction((tx) => this.groups.remove(tx, id));
  }
}
