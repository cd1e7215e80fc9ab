import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

import type { Loss } from './loss-counter.js';

export interface Losses {
  tasks: Loss[];
  slaves: Loss[];
}

interface LossRow {
  id: string;
  at: Date;
}

/** REASON_SLAVE_REMOVED, AGENT_REMOVED and REASON_AGENT_REMOVED are one reason. */
const spellings = (reason: string): string[] => {
  const bare = reason.replace(/^REASON_/, '');
  return [bare.replace('SLAVE', 'AGENT'), bare.replace('AGENT', 'SLAVE')].map((name) => `REASON_${name}`);
};

/** Finds the tasks and the slaves that were lost. */
@Injectable()
export class LossReads {
  private readonly reasons: string[];

  constructor(@Inject(SETTINGS) { disasterDetection }: Settings) {
    this.reasons = disasterDetection.lostTaskReasons.flatMap(spellings);
  }

  /** Lost at `since` or later. */
  async find(tx: EntityManager, since: number): Promise<Losses> {
    return { tasks: await this.tasks(tx, since), slaves: await this.slaves(tx, since) };
  }

  /** A task that is lost stands in the history, or for a while still among the live ones. */
  private async tasks(tx: EntityManager, since: number): Promise<Loss[]> {
    const found = await rows<LossRow>(
      tx,
      `SELECT t.task_id AS id, u.at FROM task t JOIN task_update u ON u.task_id = t.task_id AND u.state = 'TASK_LOST'
       WHERE t.state_at >= $1 AND u.at >= $1 AND u.reason = ANY ($2)
       UNION ALL
       SELECT h.task_id, h.updated_at FROM task_history h
       WHERE h.updated_at >= $1 AND h.last_task_status = 'TASK_LOST' AND EXISTS (
         SELECT 1 FROM jsonb_array_elements(h.data->'taskUpdates') u
         WHERE u->>'taskState' = 'TASK_LOST' AND u->>'statusReason' = ANY ($2))`,
      [new Date(since), this.reasons],
    );
    return found.map(toLoss);
  }

  /** Slaves that were ACTIVE until they were DEAD. */
  private async slaves(tx: EntityManager, since: number): Promise<Loss[]> {
    const found = await rows<LossRow>(
      tx,
      `SELECT dead.id::text, dead.at FROM machine_history dead
       WHERE dead.machine_kind = 'SLAVE' AND dead.state = 'DEAD' AND dead.at >= $1 AND 'ACTIVE' = (
         SELECT former.state FROM machine_history former
         WHERE former.machine_kind = 'SLAVE' AND former.machine_id = dead.machine_id AND former.id < dead.id
         ORDER BY former.id DESC LIMIT 1)`,
      [new Date(since)],
    );
    return found.map(toLoss);
  }
}

const toLoss = ({ id, at }: LossRow): Loss => ({ id, at: at.getTime() });
