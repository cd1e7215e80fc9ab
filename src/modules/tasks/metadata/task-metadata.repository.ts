import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { TaskMetadataEntity } from './task-metadata.entity.js';

/** Notes on live tasks. */
@Injectable()
export class TaskMetadataRepository {
  /** false: the task has a note of this type from this millisecond already. */
  async add(tx: EntityManager, note: TaskMetadataEntity): Promise<boolean> {
    const insertion = tx.createQueryBuilder().insert().into(TaskMetadataEntity).values(note).orIgnore();
    const { raw } = await insertion.returning('type').execute();
    return (raw as unknown[]).length > 0;
  }

  count(tx: EntityManager, taskId: string): Promise<number> {
    return tx.getRepository(TaskMetadataEntity).countBy({ taskId });
  }
}
