import { Injectable } from '@nestjs/common';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { UserSettingsEntity } from './user-settings.entity.js';

export type ChosenSettings = Partial<Pick<UserSettingsEntity, 'starredRequestIds' | 'preferences'>>;

/** The settings of users, by the id of the user. */
@Injectable()
export class UserSettingsRepository {
  async find(tx: Queryable, userId: string): Promise<UserSettingsEntity | undefined> {
    return (await tx.getRepository(UserSettingsEntity).findOneBy({ userId })) ?? undefined;
  }

  /** By hand: each list of requests asks it. */
  async starred(tx: Queryable, userId: string): Promise<readonly string[]> {
    const [found] = await rows<{ ids: string[] }>(
      tx,
      'SELECT starred_request_ids AS ids FROM user_settings WHERE user_id = $1',
      [userId],
    );
    return found?.ids ?? [];
  }

  /** Waits for the row, so that two changes of one user never undo each other. */
  async lock(tx: Transaction, userId: string, now: number): Promise<UserSettingsEntity> {
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

  async save(tx: Transaction, userId: string, change: ChosenSettings, now: number): Promise<void> {
    await tx.getRepository(UserSettingsEntity).update({ userId }, { ...change, updatedAt: new Date(now) });
  }
}
