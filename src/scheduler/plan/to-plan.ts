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

/** Least time that waits and gates take; undefined: there are no gates. */
export function leastMillisOf(steps: readonly PlannedStep[]): number | undefined {
  if (!steps.some(({ gates }) => gates)) return undefined;
  const gates = steps.flatMap((step) => step.gates ?? []);
  const waits = steps.reduce((sum, { waitMillis = 0 }) => sum + waitMillis, 0);
  return waits + gates.reduce((sum, { leastMillis }) => sum + leastMillis, 0);
}

function toStep({ start, stop, waitMillis, waitsForUpdate, gates }: PlannedStep, fit: StepFit): PlannedStepDto {
  return {
    start: start.map(({ pendingTaskId: { instanceNo, nextRunAt, createdAt } }) => ({
      instanceNo,
      notBefore: nextRunAt > createdAt ? nextRunAt : undefined,
    })),
    stop,
    fits: toFit(fit),
    waitMillis,
    waitsForUpdate,
    gates,
  };
}

function toFit({ tasks, fitting, explanation }: StepFit): PlannedFitDto {
  const { reason, slaves, rejections } = explanation;
  const missing = fitting < tasks ? `. ${explanationText(explanation)}` : '';
  const message = `${fitting} of ${tasks} tasks fit now${missing}`;
  return { tasks, fitting, reason, message, slaves, rejections };
}
