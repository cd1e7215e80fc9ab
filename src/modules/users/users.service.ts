import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { UserSettingsDto } from './user-settings.dto.js';
import type { UserSettingsEntity } from './user-settings.entity.js';
import { type ChosenSettings, UserSettingsRepository } from './user-settings.repository.js';

/** The settings of users: the requests they have starred, and what programs keep for them. */
@Injectable()
export class UsersService {
  constructor(
    private readonly db: Database,
    private readonly store: UserSettingsRepository,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async find(caller: Caller): Promise<UserSettingsDto> {
    this.check(caller);
    return UserSettingsDto.of(await this.store.find(this.db.pool, caller.id));
  }

  replace(caller: Caller, ids: readonly string[]): Promise<void> {
    return this.changeStarred(caller, () => [...new Set(ids)]);
  }

  star(caller: Caller, ids: readonly string[]): Promise<void> {
    return this.changeStarred(caller, (starred) => [...new Set([...starred, ...ids])]);
  }

  unstar(caller: Caller, ids: readonly string[]): Promise<void> {
    return this.changeStarred(caller, (starred) => starred.filter((id) => !ids.includes(id)));
  }

  /** undefined: nothing is kept any more. */
  prefer(caller: Caller, preferences: Record<string, unknown> | undefined): Promise<void> {
    return this.change(caller, () => ({ preferences: preferences ?? null }));
  }

  private changeStarred(caller: Caller, next: (starred: readonly string[]) => string[]): Promise<void> {
    return this.change(caller, (present) => {
      const starredRequestIds = next(present.starredRequestIds);
      const most = this.settings.maxStarredRequestsPerUser;
      if (starredRequestIds.length > most) refuse('starredRequestIds', `at most ${most} requests can be starred`);
      return { starredRequestIds };
    });
  }

  private async change(caller: Caller, next: (present: UserSettingsEntity) => ChosenSettings): Promise<void> {
    this.check(caller);
    const now = this.clock.now();
    await this.db.transaction(async (tx) => {
      const present = await this.store.lock(tx, caller.id, now);
      await this.store.save(tx, caller.id, next(present), now);
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
