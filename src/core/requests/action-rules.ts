import { isLongRunning, type RequestCleanupType, type RequestState } from '../model/enums.js';
import type { Request } from '../model/request.js';

/** Facts of a request when an action on it is requested. */
export interface RequestFacts {
  request: Request;
  state: RequestState;
  /** Orders for the whole request that the cleaner has not carried out yet. */
  cleanups: readonly RequestCleanupType[];
  /** The active deploy, else the pending one. */
  deployInUse?: string;
  bouncing: boolean;
  /** The deploy in progress brings a new version of the request with it. */
  deployChangesRequest: boolean;
}

export interface Refusal {
  code:
    | 'INVALID_REQUEST'
    | 'REQUEST_BEING_CLEANED'
    | 'REQUEST_PAUSED'
    | 'REQUEST_NOT_PAUSED'
    | 'REQUEST_FINISHED'
    | 'REQUEST_NOT_IN_COOLDOWN'
    | 'REQUEST_BOUNCING'
    | 'DEPLOY_IN_PROGRESS'
    | 'NO_DEPLOY';
  message: string;
}

type Rule = (facts: RequestFacts) => Refusal | undefined;

/** Nothing of a request runs any more, whoever asks for a run. */
export function refuseEnded(
  { id }: Pick<Request, 'id'>,
  state: RequestState,
): { code: 'REQUEST_BEING_CLEANED' | 'REQUEST_FINISHED'; message: string } | undefined {
  if (state === 'DELETING') return { code: 'REQUEST_BEING_CLEANED', message: `Request '${id}' is being deleted` };
  if (state !== 'FINISHED') return undefined;
  const message = `Request '${id}' has finished; change its schedule or deploy it again`;
  return { code: 'REQUEST_FINISHED', message };
}

const requestIs = (facts: RequestFacts): string => `Request '${facts.request.id}' is`;

/** Create, update, scale, skip-healthchecks, groups: whatever replaces the stored request. */
export const refuseUpdate: Rule = (facts) => {
  const [waiting] = facts.cleanups;
  if (facts.state === 'DELETING' || waiting) {
    return {
      code: 'REQUEST_BEING_CLEANED',
      message: `${requestIs(facts)} being cleaned (${waiting ?? 'DELETING'}); try again later`,
    };
  }
  if (facts.deployChangesRequest) {
    const message = `The deploy in progress of request '${facts.request.id}' changes the request; wait for it or cancel it`;
    return { code: 'DEPLOY_IN_PROGRESS', message };
  }
  return undefined;
};

/** A bounce that has begun does not stand in the way: the pause ends it. */
export const refusePause: Rule = (facts) => {
  if (facts.state === 'PAUSED') return { code: 'REQUEST_PAUSED', message: `${requestIs(facts)} already paused` };
  const waiting = facts.cleanups.find((type) => type === 'PAUSING' || type === 'DELETING');
  if (facts.state === 'DELETING' || waiting) {
    return { code: 'REQUEST_BEING_CLEANED', message: `${requestIs(facts)} being cleaned (${waiting ?? 'DELETING'})` };
  }
  return undefined;
};

export const refuseUnpause: Rule = (facts) =>
  facts.state === 'PAUSED'
    ? undefined
    : { code: 'REQUEST_NOT_PAUSED', message: `${requestIs(facts)} not paused but ${facts.state}` };

export const refuseExitCooldown: Rule = (facts) =>
  facts.state === 'SYSTEM_COOLDOWN'
    ? undefined
    : { code: 'REQUEST_NOT_IN_COOLDOWN', message: `${requestIs(facts)} not in cooldown but ${facts.state}` };

/** First half of the checks of a bounce: those that come before the question whether there are machines enough. */
export const refuseBounce: Rule = (facts) => {
  if (!isLongRunning(facts.request.requestType)) {
    const message = `${requestIs(facts)} of type ${facts.request.requestType}; only SERVICE and WORKER can be bounced`;
    return { code: 'INVALID_REQUEST', message };
  }
  if (facts.state === 'PAUSED')
    return { code: 'REQUEST_PAUSED', message: `${requestIs(facts)} paused; there is nothing to bounce` };
  if (facts.state === 'DELETING')
    return { code: 'REQUEST_BEING_CLEANED', message: `${requestIs(facts)} being deleted` };
  return undefined;
};

export const refuseSecondBounce: Rule = (facts) => {
  if (!facts.deployInUse)
    return { code: 'NO_DEPLOY', message: `Request '${facts.request.id}' has no deploy to bounce` };
  return facts.bouncing || isBounceWaiting(facts)
    ? { code: 'REQUEST_BOUNCING', message: `${requestIs(facts)} already bouncing` }
    : undefined;
};

/** A bounce that comes with a scale replaces the tasks of a bounce under way, but not one that has not begun. */
export const refuseBounceAfterScale: Rule = (facts) =>
  refuseBounce(facts) ??
  (isBounceWaiting(facts) ? { code: 'REQUEST_BOUNCING', message: `${requestIs(facts)} already bouncing` } : undefined);

const isBounceWaiting = ({ cleanups }: RequestFacts): boolean =>
  cleanups.includes('BOUNCE') || cleanups.includes('INCREMENTAL_BOUNCE');
