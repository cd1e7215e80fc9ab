import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../platform/database/sql.js';

export interface UserSettings {
  starredRequestIds: string[];
}

/** The rows of what users have chosen, by the id of the user. */
@Injectable()
export class UserSettingsStore {
  async find(tx: EntityManager, userId: string): Promise<UserSettings | undefined> {
    const sql = 'SELECT starred_request_ids AS "starredRequestIds" FROM user_settings WHERE user_id = $1';
    return (await rows<UserSettings>(tx, sql, [userId]))[0];
  }

  /** Waits for the row, so that two changes of one user never undo each other. */
  async lock(tx: EntityManager, userId: string, now: number): Promise<UserSettings> {
    await tx.query('INSERT INTO user_settings (user_id, updated_at) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      userId,
      new Date(now),
    ]);
    const sql = 'SELECT starred_request_ids AS "starredRequestIds" FROM user_settings WHERE user_id = $1 FOR UPDATE';
    return (await rows<UserSettings>(tx, sql, [userId]))[0]!;
  }

  async save(tx: EntityManager, userId: string, { starredRequestIds }: UserSettings, now: number): Promise<void> {
    await tx.query('UPDATE user_settings SET starred_request_ids = $2, updated_at = $3 WHERE user_id = $1', [
      userId,
      JSON.stringify(starredRequestIds),
      new Date(now),
    ]);
  }
}
