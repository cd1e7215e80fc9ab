import { Injectable } from '@nestjs/common';
import type { FieldError } from '../../../core/field-error.js';
import type { Request } from '../../../core/model/request.js';
import { normalizeRequest, timingProblems } from '../../../core/request-validation/index.js';
import { previewTimes, readTimetable } from '../../../core/schedules/index.js';
import { Clock } from '../../../platform/clock.js';
import { SchedulerError } from '../../../platform/errors.js';
import { type SchedulePreviewDto, type SchedulePreviewRequestDto, usualPreviewed } from './schedule-preview.dto.js';

/** Tells the times of a schedule before a request has it. */
@Injectable()
export class SchedulePreviews {
  constructor(private readonly clock: Clock) {}

  preview({ after, count = usualPreviewed, ...members }: SchedulePreviewRequestDto): SchedulePreviewDto {
    const now = this.clock.now();
    const request = { ...members, requestType: 'SCHEDULED' } as Request;
    const errors = [...idRule(request), ...timingProblems(request, { now })];
    if (errors.length > 0) throw SchedulerError.invalid('INVALID_REQUEST', errors);
    const timetable = readTimetable(request, now);
    if ('errors' in timetable) throw SchedulerError.invalid('INVALID_REQUEST', timetable.errors);
    const preview = previewTimes(timetable, { after: after ?? now, count, maxRuns: request.maxRuns });
    return { ...preview, quartzSchedule: normalizeRequest(request).quartzSchedule };
  }
}

function idRule({ id, scheduleJitterMillis }: Request): FieldError[] {
  if (scheduleJitterMillis === undefined || (id as string | undefined) !== undefined) return [];
  return [
    { field: 'id', rule: 'required', message: 'id is required: it gives the offset within scheduleJitterMillis' },
  ];
}
