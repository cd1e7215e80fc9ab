import type { Response } from 'express';
import type { Request } from '../../core/model/request.js';
import { timingWarnings } from '../../core/request-validation/index.js';

/** Warns callers of times that are accepted and may be a mistake. */
export function warnOfTimes(response: Response, request: Request, now: number): void {
  for (const warning of timingWarnings(request, now)) response.append('Warning', `299 muster "${warning}"`);
}
