import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { parsePendingTaskId, parseTaskId } from '../../core/task-id.js';
import { SchedulerError } from '../../platform/errors.js';

const refuse = (field: string, value: string, kind: string): SchedulerError =>
  SchedulerError.invalid('INVALID_PARAMETER', [
    { field, rule: 'pattern', message: `${field} is not the id of a ${kind}: '${value}'` },
  ]);

/** Refuses path parameters that cannot be the id of a task. */
@Injectable()
export class TaskIdPipe implements PipeTransform<string, string> {
  transform(value: string, { data = 'taskId' }: ArgumentMetadata): string {
    if (!parseTaskId(value)) throw refuse(data, value, 'task');
    return value;
  }
}

/** Refuses path parameters that cannot be the id of a pending task. */
@Injectable()
export class PendingTaskIdPipe implements PipeTransform<string, string> {
  transform(value: string, { data = 'pendingTaskId' }: ArgumentMetadata): string {
    if (!parsePendingTaskId(value)) throw refuse(data, value, 'pending task');
    return value;
  }
}
