import type { AccessScope, RequestGroups } from '../../../core/authorization/index.js';
import type { UserAction } from '../../../core/model/enums.js';
import type { ErrorCode } from '../../../platform/errors.js';
import type { OpenableArea } from '../../../platform/settings/auth-settings.js';
import type { CallArguments, NamedRequest } from './call.js';
import type { ListShape } from './list-shapes.js';

/** The access that an operation needs its caller to have. */
export type Need =
  /** Nothing; it is not even asked who calls. */
  | { kind: 'nothing' }
  /** The caller has to be known. `service`: what else it needs depends on what it finds, and its service asks. */
  | { kind: 'caller'; service?: string }
  | { kind: 'admin' }
  | { kind: 'globalRead' }
  | { kind: 'readAll' }
  | RequestNeed
  /** The caller has to be known; they see what of the answer belongs to requests they may read. */
  | { kind: 'list'; shape: ListShape; expensive?: true }
  /** One of two, by what is asked for. */
  | { kind: 'depends'; on: (call: CallArguments) => Need }
  /** Nothing where the settings leave it open. */
  | { kind: 'openable'; area: OpenableArea; otherwise: Need };

export interface RequestNeed {
  kind: 'request';
  scopes: readonly AccessScope[];
  requests: (call: CallArguments) => readonly NamedRequest[];
  /** The operation makes the request where there is none; of one that is gone, the caller needs WRITE on what it was. */
  creates?: true;
  /**
   * Asks for access to data of requests of this id that are gone as well. `some`: the operation answers what is of the
   * times that the caller may read (`ReadablePast`); `all`: the caller has to be allowed to read all of them.
   */
  past?: 'some' | 'all';
  /** The groups that the call wants the request to have from now on. */
  newGroups?: (call: CallArguments) => RequestGroups | undefined;
  /** The caller needs WRITE on the request with these, too; and DEPLOY, where the operation needs it at all. */
  writesNew?: true;
  /** The call replaces a group of requests of this id: those that are in it are asked for as well. */
  replacesGroup?: (call: CallArguments) => string | undefined;
  /** Requests that the request of the call is to follow from now on: the caller needs READ on those that it did not follow before. */
  newParents?: (call: CallArguments) => readonly NamedRequest[];
  /** Treatment of a call that names no request. Default: 400, as the operation would answer. */
  unnamed?: 'admin' | 'forbidden';
  refusal?: ErrorCode;
  /** An action that the request may reserve to some of its groups. */
  action?: UserAction;
}

type Requests = RequestNeed['requests'];
type RequestOptions = Omit<RequestNeed, 'kind' | 'scopes' | 'requests'>;

export const nothing: Need = { kind: 'nothing' };
export const caller: Need = { kind: 'caller' };
export const admin: Need = { kind: 'admin' };
export const globalRead: Need = { kind: 'globalRead' };
export const readAll: Need = { kind: 'readAll' };
export const askedByService = (service: string): Need => ({ kind: 'caller', service });
export const list = (shape: ListShape): Need => ({ kind: 'list', shape });
/** A list that administrators alone get while expensive calls are switched off. */
export const expensiveList = (shape: ListShape): Need => ({ kind: 'list', shape, expensive: true });
export const depends = (on: (call: CallArguments) => Need): Need => ({ kind: 'depends', on });
export const openable = (area: OpenableArea, otherwise: Need): Need => ({ kind: 'openable', area, otherwise });

export const on = (
  requests: Requests,
  scopes: AccessScope | readonly AccessScope[],
  options: RequestOptions = {},
): Need => ({
  kind: 'request',
  requests,
  scopes: typeof scopes === 'string' ? [scopes] : scopes,
  ...options,
});
