import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TaskMetadata } from '../../../core/model/task.js';
import { refuseMetadata } from '../../../core/task-metadata/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { rows } from '../../../platform/database/sql.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { Caller } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';

/** A note as somebody writes it. */
export type NewMetadata = Pick<TaskMetadata, 'type' | 'title' | 'message'> & Partial<Pick<TaskMetadata, 'level'>>;

/** Notes that users and programs attach to live tasks; they are shown with the task's history. */
@Injectable()
export class TaskMetadataService {
  constructor(
    private readonly db: Database,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** To a task that has not moved to the history yet. */
  async add(taskId: string, note: NewMetadata, caller: Caller): Promise<void> {
    const errors = refuseMetadata(note, this.settings);
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_REQUEST', errors);
    await this.db.transaction(async (tx) => {
      if (!(await this.lockTask(tx, taskId))) throw SchedulerError.taskNotFound(taskId);
      await this.refuseTooMany(tx, taskId);
      const { type, title, message = null, level = 'INFO' } = note;
      const added = await rows(
        tx,
        `INSERT INTO task_metadata (task_id, type, at, title, message, user_name, level) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT DO NOTHING RETURNING type`,
        [taskId, type, new Date(this.clock.now()), title, message, caller.email ?? null, level],
      );
      if (added.length === 0) throw exists(taskId, type);
    });
  }

  /** Until `tx` ends it stays in the live tables. false: it is not there. */
  private async lockTask(tx: EntityManager, taskId: string): Promise<boolean> {
    const found = await rows(tx, 'SELECT 1 FROM task WHERE task_id = $1 FOR KEY SHARE', [taskId]);
    return found.length > 0;
  }

  private async refuseTooMany(tx: EntityManager, taskId: string): Promise<void> {
    const { maxMetadataPerTask } = this.settings;
    const [found] = await rows<{ count: number }>(
      tx,
      'SELECT count(*)::integer AS count FROM task_metadata WHERE task_id = $1',
      [taskId],
    );
    if (found!.count < maxMetadataPerTask) return;
    const message = `Task '${taskId}' has ${maxMetadataPerTask} notes, and may have no more`;
    throw SchedulerError.invalid('INVALID_REQUEST', [{ field: '', rule: 'max', message }]);
  }
}

const exists = (taskId: string, type: string) =>
  new SchedulerError('METADATA_EXISTS', `Task '${taskId}' has a note of type '${type}' from this millisecond already`);
