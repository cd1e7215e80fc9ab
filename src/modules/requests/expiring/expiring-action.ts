import type { ExpiringKind } from '../../../core/model/enums.js';
import type {
  BounceRequest,
  PauseRequest,
  PriorityRequest,
  RequestParent,
  ScaleRequest,
  SkipHealthchecksRequest,
} from '../../../core/model/request.js';

interface Expiring<Kind extends ExpiringKind, Document, Revert> {
  kind: Kind;
  /** The request (or machine) that was changed. */
  targetId: string;
  user?: string;
  /** Epoch milliseconds. */
  startMillis: number;
  durationMillis: number;
  actionId: string;
  /** What was asked for, as it was sent. */
  document: Document;
  /** What is needed to undo it. */
  revert: Revert;
}

export type ExpiringBounceAction = Expiring<'BOUNCE', BounceRequest, { deployId: string }>;
export type ExpiringPauseAction = Expiring<'PAUSE', PauseRequest, Record<string, never>>;
export type ExpiringScaleAction = Expiring<'SCALE', ScaleRequest, { revertToInstances?: number; bounce?: boolean }>;
export type ExpiringPriorityAction = Expiring<'PRIORITY', PriorityRequest, { revertToPriority?: number }>;
export type ExpiringSkipAction = Expiring<
  'SKIP_HEALTHCHECKS',
  SkipHealthchecksRequest,
  { revertToSkipHealthchecks?: boolean }
>;

/** A change of a request that lapses by itself. */
export type ExpiringRequestAction =
  ExpiringBounceAction | ExpiringPauseAction | ExpiringScaleAction | ExpiringPriorityAction | ExpiringSkipAction;
export type ExpiringRequestKind = ExpiringRequestAction['kind'];

/** The member of a RequestParent under which an expiring action is shown. */
export function asParentMember(action: ExpiringRequestAction): Partial<RequestParent> {
  const { targetId: requestId, user, startMillis, actionId } = action;
  const common = { requestId, user, startMillis, actionId };
  switch (action.kind) {
    case 'BOUNCE':
      return { expiringBounce: { ...common, ...action.revert, expiringAPIRequestObject: action.document } };
    case 'PAUSE':
      return { expiringPause: { ...common, expiringAPIRequestObject: action.document } };
    case 'SCALE':
      return { expiringScale: { ...common, ...action.revert, expiringAPIRequestObject: action.document } };
    case 'PRIORITY':
      return { expiringPriority: { ...common, ...action.revert, expiringAPIRequestObject: action.document } };
    case 'SKIP_HEALTHCHECKS':
      return { expiringSkipHealthchecks: { ...common, ...action.revert, expiringAPIRequestObject: action.document } };
  }
}
