import { Injectable } from '@nestjs/common';
import { TaskMetadataEntity } from './task-metadata.entity.js';
import type { Transaction } from '../../../platform/database/transaction.js';

/** Notes on live tasks. */
@Injectable()
export class TaskMetadataRepository {
  /** false: the task has a note of this type from this millisecond already. */
  async add(tx: Transaction, note: TaskMetadataEntity): Promise<boolean> {
    const insertion = tx.getRepository(TaskMetadataEntity).createQueryBuilder().insert().values(note).orIgnore();
    const { raw } = await insertion.returning('type').execute();
    return (raw as unknown[]).length > 0;
  }

  count(tx: Transaction, taskId: string): Promise<number> {
    return tx.getRepository(TaskMetadataEntity).countBy({ taskId });
  }
}
