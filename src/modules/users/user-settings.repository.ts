import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../platform/database/sql.js';
import { UserSettingsEntity } from './user-settings.entity.js';

export type UserSettings = Pick<UserSettingsEntity, 'starredRequestIds'>;

/** The settings of users, by the id of the user. */
@Injectable()
export class UserSettingsRepository {
  /** By hand: each list of requests asks it. */
  async find(tx: EntityManager, userId: string): Promise<UserSettings | undefined> {
    const [found] = await rows<UserSettings>(
      tx,
      'SELECT starred_request_ids AS "starredRequestIds" FROM user_settings WHERE user_id = $1',
      [userId],
    );
    return found;
  }

  /** Waits for the row, so that two changes of one user never undo each other. */
  async lock(tx: EntityManager, userId: string, now: number): Promise<UserSettings> {
    const settings = tx.getRepository(UserSettingsEntity);
    await settings
      .createQueryBuilder()
      .insert()
      .values({ userId, starredRequestIds: [], updatedAt: new Date(now) })
      .orIgnore()
      .updateEntity(false)
      .execute();
    return settings.findOneOrFail({ where: { userId }, lock: { mode: 'pessimistic_write' } });
  }

  async save(tx: EntityManager, userId: string, { starredRequestIds }: UserSettings, now: number): Promise<void> {
    await tx.getRepository(UserSettingsEntity).update({ userId }, { starredRequestIds, updatedAt: new Date(now) });
  }
}
