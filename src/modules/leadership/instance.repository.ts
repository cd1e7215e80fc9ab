import { Injectable } from '@nestjs/common';
import type { HostState } from '../../core/model/state.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { InstanceEntity } from './instance.entity.js';

/** The newest report of another instance about itself. */
export interface InstanceNote {
  document: HostState;
  leads: boolean;
  statusDelayMillis: number | null;
  ageMillis: number;
}

/** Addresses of an instance and of its files. */
export interface InstanceAddress {
  /** Host and port, as the instance tells them to others. */
  address: string;
  /** The name of its machine. */
  hostname: string;
  dataDir: string | null;
}

/** The instances of this service, by the clock of the database: those of the instances may differ. */
@Injectable()
export class InstanceRepository {
  /** Each process writes its own row. */
  async save(tx: Queryable, instance: Omit<InstanceEntity, 'writtenAt' | 'reachesAgentsAt'>): Promise<void> {
    await tx
      .getRepository(InstanceEntity)
      .createQueryBuilder()
      .insert()
      .values({ ...instance, writtenAt: () => 'clock_timestamp()' })
      .orUpdate(['epoch', 'status_delay_millis', 'document', 'worker_of', 'data_dir', 'written_at'], ['id'])
      .execute();
  }

  /** Nothing happens to one that has no row yet: it says so again soon. */
  async tellReach(tx: Transaction, id: string, reachesAgents: boolean): Promise<void> {
    const reachesAgentsAt = () => (reachesAgents ? 'clock_timestamp()' : 'NULL');
    await tx
      .getRepository(InstanceEntity)
      .createQueryBuilder()
      .update()
      .set({ reachesAgentsAt })
      .where({ id })
      .execute();
  }

  /** The address of another instance that reached an agent within the last seconds, and would lead. */
  async otherThatReaches(tx: Transaction, id: string, seconds: number): Promise<string | undefined> {
    const found = await tx
      .getRepository(InstanceEntity)
      .createQueryBuilder('other')
      .where('other.id <> :id', { id })
      .andWhere(
        // One that was said by a clock that was ahead is none.
        'abs(extract(epoch FROM clock_timestamp() - other.reaches_agents_at)) <= :seconds',
        { seconds },
      )
      .orderBy('other.id')
      .getOne();
    return found?.document.hostAddress;
  }

  /** All instances that have not been removed yet, without their workers; the newest first. */
  async addresses(tx: Queryable): Promise<InstanceAddress[]> {
    return rows<InstanceAddress>(
      tx,
      `SELECT document->>'hostAddress' AS address, document->>'hostname' AS hostname, data_dir AS "dataDir"
       FROM instance WHERE worker_of IS NULL ORDER BY written_at DESC, id`,
      [],
    );
  }

  /** Removes those that did not write for so long, or by a clock that has been set back since. */
  async removeOlderThan(tx: Queryable, seconds: number): Promise<void> {
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

  async remove(tx: Transaction, id: string): Promise<void> {
    await tx.getRepository(InstanceEntity).delete({ id });
  }

  /** All but this one, and without the workers of each, that wrote within the last seconds. By hand: the database tells which one leads, and the ages. */
  async others(tx: Queryable, id: string, seconds: number): Promise<InstanceNote[]> {
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
