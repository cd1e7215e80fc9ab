import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { UserSettingsRepository, type UserSettings } from './user-settings.repository.js';

/** The settings of users: the requests they have starred. */
@Injectable()
export class UsersService {
  constructor(
    private readonly db: Database,
    private readonly store: UserSettingsRepository,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async find(caller: Caller): Promise<UserSettings> {
    this.check(caller);
    return (await this.store.find(this.db.pool, caller.id)) ?? { starredRequestIds: [] };
  }

  replace(caller: Caller, ids: readonly string[]): Promise<void> {
    return this.change(caller, () => [...new Set(ids)]);
  }

  star(caller: Caller, ids: readonly string[]): Promise<void> {
    return this.change(caller, (starred) => [...new Set([...starred, ...ids])]);
  }

  unstar(caller: Caller, ids: readonly string[]): Promise<void> {
    return this.change(caller, (starred) => starred.filter((id) => !ids.includes(id)));
  }

  private async change(caller: Caller, next: (starred: readonly string[]) => string[]): Promise<void> {
    this.check(caller);
    const now = this.clock.now();
    await this.db.transaction(async (tx) => {
      const { starredRequestIds } = await this.store.lock(tx, caller.id, now);
      const wanted = next(starredRequestIds);
      const most = this.settings.maxStarredRequestsPerUser;
      if (wanted.length > most) refuse('starredRequestIds', `at most ${most} requests can be starred`);
      await this.store.save(tx, caller.id, { starredRequestIds: wanted }, now);
    });
  }

  private check({ id }: Caller): void {
    const { maxUserIdSize } = this.settings;
    if (id === '' || id.length > maxUserIdSize) {
      refuse('user', `settings are kept for user ids of 1 to ${maxUserIdSize} characters`);
    }
  }
}

function refuse(field: string, message: string): never {
  throw SchedulerError.invalid('INVALID_PARAMETER', [{ field, rule: 'max', message: `${field}: ${message}` }]);
}
