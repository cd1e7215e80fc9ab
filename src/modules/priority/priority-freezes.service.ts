import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { PriorityFreeze, PriorityFreezeParent } from '../../core/model/priority.js';
import type { Request } from '../../core/model/request.js';
import { freezeRefusal } from '../../core/priority/index.js';
import { rows } from '../../platform/database/sql.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { priorityRules } from './priority-rules.js';

interface FreezeRow {
  minimum_priority_level: number;
  kill_tasks: boolean;
  kill_wanted: boolean;
  message: string | null;
  action_id: string;
  user_name: string | null;
  started_at: Date;
  duration_millis: string | null;
}

/** A freeze as stored. */
export interface StoredFreeze extends PriorityFreezeParent {
  priorityFreeze: PriorityFreeze & { actionId: string };
  /** Tasks below the level are still to be killed. */
  killWanted: boolean;
}

/** The priority freeze in force: at most one. Whoever writes it wakes 'scheduler' after the commit. */
@Injectable()
export class PriorityFreezes {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  async active(tx: EntityManager): Promise<PriorityFreeze | undefined> {
    return (await this.find(tx))?.priorityFreeze;
  }

  /** `lock`: nobody changes it until `tx` ends. */
  async find(tx: EntityManager, { lock = false } = {}): Promise<StoredFreeze | undefined> {
    const [found] = await rows<FreezeRow>(tx, `SELECT * FROM priority_freeze ${lock ? 'FOR UPDATE' : ''}`);
    return found && fromRow(found);
  }

  /** 400 when a freeze in force would hold back the tasks that are to replace those of the request. */
  async refuse(tx: EntityManager, request: Request): Promise<void> {
    const problem = freezeRefusal(request, await this.active(tx), priorityRules(this.settings));
    if (problem) throw SchedulerError.invalid('INVALID_REQUEST', [problem]);
  }

  /** Takes the place of one in force, and of what that one wanted killed. */
  async save(tx: EntityManager, { priorityFreeze: freeze, timestamp, user }: StoredFreeze): Promise<void> {
    await tx.query(
      `INSERT INTO priority_freeze (minimum_priority_level, kill_tasks, kill_wanted, message, action_id, user_name,
         started_at, duration_millis)
       VALUES ($1, $2, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (only_row) DO UPDATE SET minimum_priority_level = excluded.minimum_priority_level,
         kill_tasks = excluded.kill_tasks, kill_wanted = excluded.kill_wanted, message = excluded.message,
         action_id = excluded.action_id, user_name = excluded.user_name, started_at = excluded.started_at,
         duration_millis = excluded.duration_millis`,
      [
        freeze.minimumPriorityLevel,
        freeze.killTasks,
        freeze.message ?? null,
        freeze.actionId,
        user ?? null,
        new Date(timestamp),
        freeze.durationMillis ?? null,
      ],
    );
  }

  /** What it wanted killed is killed. */
  async killsDone(tx: EntityManager): Promise<void> {
    await tx.query('UPDATE priority_freeze SET kill_wanted = false');
  }

  /** false: there was none. */
  async remove(tx: EntityManager): Promise<boolean> {
    return (await rows(tx, 'DELETE FROM priority_freeze RETURNING only_row')).length > 0;
  }
}

const fromRow = (row: FreezeRow): StoredFreeze => ({
  priorityFreeze: {
    minimumPriorityLevel: row.minimum_priority_level,
    killTasks: row.kill_tasks,
    message: row.message ?? undefined,
    actionId: row.action_id,
    durationMillis: row.duration_millis === null ? undefined : Number(row.duration_millis),
  },
  timestamp: row.started_at.getTime(),
  user: row.user_name ?? undefined,
  killWanted: row.kill_wanted,
});
