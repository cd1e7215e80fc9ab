import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { HostState } from '../../core/model/state.js';
import { rows } from '../../platform/database/sql.js';
import { InstanceEntity } from './instance.entity.js';

/** What another instance said of itself last. */
export interface InstanceNote {
  document: HostState;
  leads: boolean;
  statusDelayMillis: number | null;
  ageMillis: number;
}

/** The instances of this service, by the clock of the database: those of the instances may differ. */
@Injectable()
export class InstanceRepository {
  /** Each process writes its own row. */
  async save(tx: EntityManager, instance: Omit<InstanceEntity, 'writtenAt'>): Promise<void> {
    await tx
      .getRepository(InstanceEntity)
      .createQueryBuilder()
      .insert()
      .values({ ...instance, writtenAt: () => 'clock_timestamp()' })
      .orUpdate(['epoch', 'status_delay_millis', 'document', 'worker_of', 'written_at'], ['id'])
      .execute();
  }

  /** Removes those that did not write for so long, or by a clock that has been set back since. */
  async removeOlderThan(tx: EntityManager, seconds: number): Promise<void> {
    await tx
      .getRepository(InstanceEntity)
      .createQueryBuilder()
      .delete()
      .where(
        'written_at NOT BETWEEN clock_timestamp() - make_interval(secs => :seconds) AND clock_timestamp() + make_interval(secs => :seconds)',
        {
          seconds,
        },
      )
      .execute();
  }

  async remove(tx: EntityManager, id: string): Promise<void> {
    await tx.getRepository(InstanceEntity).delete({ id });
  }

  /** All but this one, and without the workers of each, that wrote within the last seconds. By hand: the database tells which one leads, and the ages. */
  async others(tx: EntityManager, id: string, seconds: number): Promise<InstanceNote[]> {
    return rows<InstanceNote>(
      tx,
      // A leader that died still says that it leads; its epoch tells.
      `SELECT document, status_delay_millis AS "statusDelayMillis", coalesce(i.epoch = e.epoch, false) AS leads,
         (extract(epoch FROM clock_timestamp() - written_at) * 1000)::bigint AS "ageMillis"
       FROM instance i CROSS JOIN leader_epoch e
       WHERE id <> $1 AND worker_of IS NULL AND written_at BETWEEN clock_timestamp() - make_interval(secs => $2) AND clock_timestamp() + make_interval(secs => $2)`,
      [id, seconds],
    );
  }
}
