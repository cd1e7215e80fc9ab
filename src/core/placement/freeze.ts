import type { FieldError } from '../field-error.js';
import type { Request } from '../model/request.js';
import type { PriorityFreeze } from '../model/state.js';
import { priorityLevel } from './demand.js';
import type { PlacementRules } from './snapshot.js';

export type PriorityRules = Pick<PlacementRules, 'priority'>;

/** Reason why a freeze is refused. */
export function freezeProblem({ minimumPriorityLevel, durationMillis }: PriorityFreeze): FieldError | undefined {
  if (!(minimumPriorityLevel > 0 && minimumPriorityLevel <= 1)) {
    const message = 'minimumPriorityLevel must be above 0 and at most 1';
    return { field: 'minimumPriorityLevel', rule: 'range', message };
  }
  if (durationMillis !== undefined && durationMillis < 1) {
    return { field: 'durationMillis', rule: 'min', message: 'durationMillis must be at least 1' };
  }
  return undefined;
}

/** Its priority is below the minimum of the freeze. */
export const isFrozen = (request: Request, freeze: PriorityFreeze | undefined, rules: PriorityRules): boolean =>
  freeze !== undefined && priorityLevel(request, rules) < freeze.minimumPriorityLevel;

/** Reason why a request cannot be bounced: its tasks would go, and no new ones come. */
export function freezeRefusal(
  request: Request,
  freeze: PriorityFreeze | undefined,
  rules: PriorityRules,
): FieldError | undefined {
  if (!freeze || !isFrozen(request, freeze, rules)) return undefined;
  const level = priorityLevel(request, rules);
  const message =
    `Priority ${level} of request '${request.id}' is below ${freeze.minimumPriorityLevel}, ` +
    `the minimum of the priority freeze in force${freeze.message ? `: ${freeze.message}` : ''}`;
  return { field: 'taskPriorityLevel', rule: 'priorityFreeze', message };
}
