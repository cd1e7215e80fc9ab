import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DisabledAction, DisasterDataPoint } from '../../core/model/disaster.js';
import type { ActionType, DisasterType } from '../../core/model/enums.js';
import { rows, toTime } from '../../platform/database/sql.js';

interface DataPointRow {
  at: Date;
  active_tasks: number;
  pending_tasks: number;
  late_tasks: number;
  avg_task_lag_millis: string;
  lost_tasks: number;
  active_slaves: number;
  lost_slaves: number;
}

/** Disasters in force and what they are seen in. Whoever changes what is switched off wakes 'actions' after the commit. */
@Injectable()
export class DisasterStore {
  /** Of whoever decides about disasters: one after the other, until `tx` ends. Answers the automated-actions switch. */
  async lock(tx: EntityManager): Promise<{ automated: boolean }> {
    const [found] = await rows<{ enabled: boolean }>(tx, 'SELECT enabled FROM automated_actions FOR UPDATE');
    return { automated: found!.enabled };
  }

  async isAutomated(tx: EntityManager): Promise<boolean> {
    const [found] = await rows<{ enabled: boolean }>(tx, 'SELECT enabled FROM automated_actions');
    return found!.enabled;
  }

  async setAutomated(tx: EntityManager, enabled: boolean): Promise<void> {
    await tx.query('UPDATE automated_actions SET enabled = $1', [enabled]);
  }

  /** In the order of their names. */
  async active(tx: EntityManager): Promise<DisasterType[]> {
    const found = await rows<{ type: DisasterType }>(tx, 'SELECT type FROM active_disaster ORDER BY type');
    return found.map((row) => row.type);
  }

  /** From now on these, and no others, are in force. */
  async replaceActive(tx: EntityManager, types: readonly DisasterType[], now: number): Promise<void> {
    await tx.query('DELETE FROM active_disaster WHERE NOT type = ANY ($1)', [types]);
    await tx.query(
      'INSERT INTO active_disaster (type, since) SELECT type, $2 FROM unnest($1::text[]) AS type ON CONFLICT (type) DO NOTHING',
      [types, new Date(now)],
    );
  }

  /** Newest first. */
  async dataPoints(tx: EntityManager): Promise<DisasterDataPoint[]> {
    const found = await rows<DataPointRow>(tx, 'SELECT * FROM disaster_data_point ORDER BY at DESC');
    return found.map((row) => ({
      timestamp: row.at.getTime(),
      numActiveTasks: row.active_tasks,
      numPendingTasks: row.pending_tasks,
      numLateTasks: row.late_tasks,
      avgTaskLagMillis: Number(row.avg_task_lag_millis),
      numLostTasks: row.lost_tasks,
      numActiveSlaves: row.active_slaves,
      numLostSlaves: row.lost_slaves,
    }));
  }

  /** Keeps the newest `most`. */
  async addDataPoint(tx: EntityManager, point: DisasterDataPoint, most: number): Promise<void> {
    await tx.query(
      `INSERT INTO disaster_data_point (at, active_tasks, pending_tasks, late_tasks, avg_task_lag_millis, lost_tasks,
         active_slaves, lost_slaves)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (at) DO UPDATE SET lost_tasks = disaster_data_point.lost_tasks + excluded.lost_tasks,
         lost_slaves = disaster_data_point.lost_slaves + excluded.lost_slaves`,
      [
        new Date(point.timestamp),
        point.numActiveTasks,
        point.numPendingTasks,
        point.numLateTasks,
        point.avgTaskLagMillis,
        point.numLostTasks,
        point.numActiveSlaves,
        point.numLostSlaves,
      ],
    );
    await tx.query(
      `DELETE FROM disaster_data_point WHERE at < (SELECT min(at) FROM (SELECT at FROM disaster_data_point
         ORDER BY at DESC LIMIT $1) newest)`,
      [most],
    );
  }

  /** By a user: takes the place of one there is. */
  async disable(tx: EntityManager, disabled: DisabledAction): Promise<void> {
    await this.insert(tx, disabled, '');
  }

  /** By a disaster: what an operator, or a worse disaster, switched off stays as it is. */
  async disableBecauseOfDisaster(tx: EntityManager, disabled: readonly DisabledAction[]): Promise<void> {
    for (const each of disabled) await this.insert(tx, each, 'WHERE former.automatically_clearable');
  }

  /** false: it was not switched off. */
  async enable(tx: EntityManager, action: ActionType): Promise<boolean> {
    return (await rows(tx, 'DELETE FROM disabled_action WHERE action = $1 RETURNING action', [action])).length > 0;
  }

  /** What came back because no disaster is left. */
  async enableClearable(tx: EntityManager): Promise<ActionType[]> {
    const found = await rows<{ action: ActionType }>(
      tx,
      'DELETE FROM disabled_action WHERE automatically_clearable RETURNING action',
    );
    return found.map((row) => row.action);
  }

  /** What came back because its time is over. */
  async enableExpired(tx: EntityManager, now: number): Promise<ActionType[]> {
    const found = await rows<{ action: ActionType }>(
      tx,
      'DELETE FROM disabled_action WHERE expires_at <= $1 RETURNING action',
      [new Date(now)],
    );
    return found.map((row) => row.action);
  }

  private async insert(tx: EntityManager, disabled: DisabledAction, onlyWhere: string): Promise<void> {
    await tx.query(
      `INSERT INTO disabled_action AS former (action, message, user_name, automatically_clearable, expires_at)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (action) DO UPDATE SET message = excluded.message, user_name = excluded.user_name,
         automatically_clearable = excluded.automatically_clearable, expires_at = excluded.expires_at ${onlyWhere}`,
      [
        disabled.type,
        disabled.message,
        disabled.user ?? null,
        disabled.automaticallyClearable,
        toTime(disabled.expiresAt),
      ],
    );
  }
}
