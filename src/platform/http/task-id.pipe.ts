import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { parsePendingTaskId, parseTaskId } from '../../core/task-id.js';
import { SchedulerError } from '../errors.js';

/** Descriptions of the forms of ids. */
export const idForms = {
  task: 'One looks like web-v1-1700000000000-1-host_name-rack: request, deploy, start in epoch milliseconds, instance, host, rack; GET /api/tasks/ids/request/{requestId} lists those of a request',
  'pending task':
    'One looks like web-v1-1700000000000-1-IMMEDIATE-1700000000000: request, deploy, when it is due, instance, why, when it was asked for; GET /api/tasks/scheduled/ids lists them',
} as const;

const refuse = (field: string, value: string, kind: keyof typeof idForms): SchedulerError =>
  SchedulerError.invalid('INVALID_PARAMETER', [
    { field, rule: 'pattern', message: `${field} is not the id of a ${kind}: '${value}'. ${idForms[kind]}` },
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
