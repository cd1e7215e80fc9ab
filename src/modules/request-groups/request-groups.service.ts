import { Inject, Injectable } from '@nestjs/common';
import { refuseGroupId } from '../../core/requests/group-id.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { RequestGroupStore, type RequestGroup } from './request-group-store.service.js';

/** Keeps what people say about requests that belong together. Nothing else of the service looks at it. */
@Injectable()
export class RequestGroupsService {
  constructor(
    private readonly db: Database,
    private readonly groups: RequestGroupStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  list(): Promise<RequestGroup[]> {
    return this.groups.list(this.db.manager);
  }

  async one(id: string): Promise<RequestGroup> {
    const group = await this.groups.find(this.db.manager, id);
    if (!group) throw new SchedulerError('NOT_FOUND', `No request group with id '${id}'`);
    return group;
  }

  async save(sent: Omit<RequestGroup, 'metadata'> & Partial<RequestGroup>): Promise<RequestGroup> {
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
