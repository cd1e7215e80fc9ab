import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { DisasterDataPoint } from '../../core/model/state.js';
import type { DisasterType } from '../../core/model/enums.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { OutboxRepository } from '../events/outbox.repository.js';
import { ActiveDisasterEntity, AutomatedActionsEntity, DisasterDataPointEntity } from './disaster.entity.js';

/** Counts of the present for a data point. */
interface ClusterCounts {
  active: number;
  pending: number;
  late: number;
  /** On average, in milliseconds. */
  lag: number;
  slaves: number;
}

/** Disasters in force and what they are seen in. */
@Injectable()
export class DisasterRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  /** Decisions about disasters are made one after the other: until `tx` ends. Answers the automated-actions switch. */
  async lock(tx: Transaction): Promise<{ automated: boolean }> {
    await rows(tx, 'SELECT FROM automated_actions FOR UPDATE');
    return { automated: await this.isAutomated(tx) };
  }

  async isAutomated(tx: Transaction): Promise<boolean> {
    return (await tx.getRepository(AutomatedActionsEntity).findOneByOrFail({ onlyRow: true })).enabled;
  }

  async setAutomated(tx: Transaction, enabled: boolean): Promise<void> {
    await tx.getRepository(AutomatedActionsEntity).update({ onlyRow: true }, { enabled });
  }

  /** In the order of their names. */
  async active(tx: Queryable): Promise<DisasterType[]> {
    const found = await tx.getRepository(ActiveDisasterEntity).find({ order: { type: 'ASC' } });
    return found.map(({ type }) => type);
  }

  /** From now on these, and no others, are in force. Under `lock`. */
  async replaceActive(tx: Transaction, types: readonly DisasterType[], now: number): Promise<void> {
    const disasters = tx.getRepository(ActiveDisasterEntity);
    const before = await this.active(tx);
    const over = before.filter((type) => !types.includes(type));
    const begun = types.filter((type) => !before.includes(type));
    await disasters.delete({ type: In(over) });
    await disasters.insert(begun.map((type) => ({ type, since: new Date(now) })));
    await this.outbox.disasters(tx, over, false, now);
    await this.outbox.disasters(tx, begun, true, now);
  }

  /** Newest first. */
  async dataPoints(tx: Transaction): Promise<DisasterDataPoint[]> {
    const found = await tx.getRepository(DisasterDataPointEntity).find({ order: { at: 'DESC' } });
    return found.map((point) => ({
      timestamp: point.at.getTime(),
      numActiveTasks: point.activeTasks,
      numPendingTasks: point.pendingTasks,
      numLateTasks: point.lateTasks,
      avgTaskLagMillis: point.avgTaskLagMillis,
      numLostTasks: point.lostTasks,
      numActiveSlaves: point.activeSlaves,
      numLostSlaves: point.lostSlaves,
    }));
  }

  /** Keeps the newest `most`. By hand: a second point of the same moment adds its losses to the first. */
  async addDataPoint(tx: Transaction, point: DisasterDataPoint, most: number): Promise<void> {
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

  /** Late are tasks that should have run before `lateBefore`; none is that waits for another run of its request. By hand: one look at three tables. */
  async clusterCounts(tx: Transaction, now: number, lateBefore: number): Promise<ClusterCounts> {
    const [found] = await rows<ClusterCounts>(
      tx,
      `SELECT (SELECT count(*)::int FROM task WHERE ended_at IS NULL) AS active,
         (SELECT count(*)::int FROM slave WHERE state NOT IN ('DEAD', 'MISSING_ON_STARTUP')) AS slaves,
         count(*)::int AS pending,
         count(*) FILTER (WHERE next_run_at < $2 AND NOT document ? 'buffered')::int AS late,
         coalesce(floor(avg(extract(epoch FROM $1 - next_run_at) * 1000) FILTER (WHERE next_run_at < $1 AND NOT document ? 'buffered')), 0)::float8 AS lag
       FROM pending_task WHERE NOT delete_requested`,
      [new Date(now), new Date(lateBefore)],
    );
    return found!;
  }
}
