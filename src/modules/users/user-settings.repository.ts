import { Injectable } from '@nestjs/common';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { UserSettingsEntity } from './user-settings.entity.js';

export type UserSettings = Pick<UserSettingsEntity, 'starredRequestIds'>;

/** The settings of users, by the id of the user. */
@Injectable()
export class UserSettingsRepository {
  /** By hand: each list of requests asks it. */
  async find(tx: Queryable, userId: string): Promise<UserSettings | undefined> {
    const [found] = await rows<UserSettings>(
      tx,
      'SELECT starred_request_ids AS "starredRequestIds" FROM user_settings WHERE user_id = $1',
      [userId],
    );
    return found;
  }

  /** Waits for the row, so that two changes of one user never undo each other. */
  async lock(tx: Transaction, userId: string, now: number): Promise<UserSettings> {
    const settings = tx.getRepository(UserSettingsEntity);
    await settings
      .createQueryBuilder()
      .insert()
      .values({ userId, starredRequestIds: [], updatedAt: new Date(now) })
      .orIgnore()
      .updateEntity(false)
      .execute();
    await rows(tx, 'SELECT FROM user_settings WHERE user_id = $1 FOR UPDATE', [userId]);
    return settings.findOneByOrFail({ userId });
  }

  async save(tx: Transaction, userId: string, { starredRequestIds }: UserSettings, now: number): Promise<void> {
    await tx.getRepository(UserSettingsEntity).update({ userId }, { starredRequestIds, updatedAt: new Date(now) });
  }
}
