import { Inject, Injectable } from '@nestjs/common';
import type { TaskMetadata } from '../../../core/model/task.js';
import { refuseMetadata } from '../../../core/tasks/metadata.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { Caller } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { TaskRepository } from '../task.repository.js';
import { TaskMetadataRepository } from './task-metadata.repository.js';

/** A note as its author gives it. */
export type NewMetadata = Pick<TaskMetadata, 'type' | 'title' | 'message'> & Partial<Pick<TaskMetadata, 'level'>>;

/** Notes that users and programs attach to live tasks; they are shown with the task's history. */
@Injectable()
export class TaskMetadataService {
  constructor(
    private readonly db: Database,
    private readonly tasks: TaskRepository,
    private readonly notes: TaskMetadataRepository,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Adds a note to a task that has not moved to the history yet. */
  async add(taskId: string, note: NewMetadata, caller: Caller): Promise<void> {
    const errors = refuseMetadata(note, this.settings);
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_REQUEST', errors);
    // That of the call: notes of one task wait for one another.
    const at = new Date(this.clock.now());
    await this.db.transaction(async (tx) => {
      if (!(await this.tasks.keepLive(tx, taskId))) throw SchedulerError.taskNotFound(taskId);
      await this.refuseTooMany(tx, taskId);
      const { type, title, message = null, level = 'INFO' } = note;
      const user = caller.email ?? null;
      const added = await this.notes.add(tx, {
        taskId,
        type,
        at,
        title,
        message,
        user,
        level,
      });
      if (!added) throw exists(taskId, type);
    });
  }

  private async refuseTooMany(tx: Transaction, taskId: string): Promise<void> {
    const { maxMetadataPerTask } = this.settings;
    if ((await this.notes.count(tx, taskId)) < maxMetadataPerTask) return;
    const message = `Task '${taskId}' has ${maxMetadataPerTask} notes, and may have no more`;
    throw SchedulerError.invalid('INVALID_REQUEST', [{ field: '', rule: 'max', message }]);
  }
}

const exists = (taskId: string, type: string) =>
  new SchedulerError('METADATA_EXISTS', `Task '${taskId}' has a note of type '${type}' from this millisecond already`);
