import { type FieldError, problem } from '../field-error.js';
import type { Request } from '../model/request.js';

/** Contradictions in what a request says of its runs. Ranges of single numbers are checked where they are read. */
export const runRules = (request: Request): FieldError[] => [
  ...retryRule(request),
  ...pauseRule(request),
  ...keepRule(request),
];

const mostExitCodes = 256;

function retryRule({ retry, numRetriesOnFailure }: Request): FieldError[] {
  if (!retry) return [];
  const { attempts, delayMillis = 0, backoffFactor = 1, maxDelayMillis, jitter, onExitCodes, notOnExitCodes } = retry;
  const errors: FieldError[] = [];
  const refuse = (field: string, rule: string, message: string): void =>
    void errors.push({ field: `retry.${field}`, rule, message: `retry.${field} ${message}` });
  if (numRetriesOnFailure !== undefined && numRetriesOnFailure !== attempts) {
    const message = `numRetriesOnFailure is the short form of retry: leave it out, or send retry.attempts (${attempts})`;
    errors.push({ field: 'numRetriesOnFailure', rule: 'contradiction', message });
  }
  if (backoffFactor > 1 && delayMillis === 0) refuse('backoffFactor', 'delay', 'needs a retry.delayMillis above 0');
  if (jitter && delayMillis === 0) refuse('jitter', 'delay', 'needs a retry.delayMillis above 0');
  if (maxDelayMillis !== undefined) {
    if (backoffFactor === 1) refuse('maxDelayMillis', 'backoff', 'needs a retry.backoffFactor above 1');
    else if (maxDelayMillis < delayMillis) {
      refuse('maxDelayMillis', 'min', `must be at least retry.delayMillis (${delayMillis}), not ${maxDelayMillis}`);
    }
  }
  for (const [field, codes] of Object.entries({ onExitCodes, notOnExitCodes })) {
    if (codes?.length === 0) refuse(field, 'length', 'must name an exit code, or be left out');
    if (codes && codes.length > mostExitCodes) refuse(field, 'length', `must have at most ${mostExitCodes} members`);
  }
  if (onExitCodes && notOnExitCodes) {
    refuse('notOnExitCodes', 'contradiction', 'must not be given beside retry.onExitCodes, which names all that count');
  }
  return errors;
}

function pauseRule({ requestType, pauseAfterFailures }: Request): FieldError[] {
  if (pauseAfterFailures === undefined || requestType !== 'RUN_ONCE') return [];
  const message = 'pauseAfterFailures is not allowed for a RUN_ONCE request: each of its deploys has one run';
  return problem('pauseAfterFailures', 'notAllowed', message);
}

function keepRule({ keepRuns }: Request): FieldError[] {
  if (!keepRuns || keepRuns.count !== undefined || keepRuns.days !== undefined) return [];
  return problem('keepRuns', 'required', 'keepRuns must have count, days or both');
}
