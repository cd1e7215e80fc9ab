import { diffFields, type FieldChange, type PlannedStep, type StepFit } from '../../core/plan/index.js';
import { explanationText } from '../../core/placement/index.js';
import { checkIndexOf } from '../../core/requests/check-index.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import type { PlanDto, PlannedFitDto, PlannedStepDto } from './dto/plan.dto.js';

/** The plan as it is answered. */
export function toPlan(
  stored: StoredRequest,
  changes: FieldChange[],
  steps: readonly PlannedStep[],
  fits: readonly StepFit[],
): PlanDto {
  return {
    requestId: stored.request.id,
    checkIndex: checkIndexOf(stored),
    changes,
    steps: steps.map((step, index) => toStep(step, fits[index]!)),
    fits: fits.every(({ tasks, fitting }) => fitting === tasks),
    starting: steps.reduce((sum, { start }) => sum + start.length, 0),
    stopping: steps.reduce((sum, { stop }) => sum + stop.length, 0),
  };
}

/** Changes of the request; none when it stays as it is. */
export const requestChanges = (stored: StoredRequest, next: StoredRequest['request']): FieldChange[] =>
  diffFields(stored.request, next, 'request');

function toStep({ start, stop, waitMillis, waitsForUpdate }: PlannedStep, fit: StepFit): PlannedStepDto {
  return {
    start: start.map(({ pendingTaskId: { instanceNo, nextRunAt, createdAt } }) => ({
      instanceNo,
      notBefore: nextRunAt > createdAt ? nextRunAt : undefined,
    })),
    stop,
    fits: toFit(fit),
    waitMillis,
    waitsForUpdate,
  };
}

function toFit({ tasks, fitting, explanation }: StepFit): PlannedFitDto {
  const { reason, slaves, rejections } = explanation;
  const missing = fitting < tasks ? `. ${explanationText(explanation)}` : '';
  const message = `${fitting} of ${tasks} tasks fit now${missing}`;
  return { tasks, fitting, reason, message, slaves, rejections };
}
