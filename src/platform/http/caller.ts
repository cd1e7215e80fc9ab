import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { builtInUser, type User } from '../../core/authorization/access-rules.js';
import type { TimeRange } from '../../core/authorization/incarnations.js';

/** The members of a user that most operations need. */
export type Caller = Pick<User, 'id' | 'email' | 'issuer'>;

/** Tells users apart: one id of two issuers is two users. */
export const callerKey = ({ id, issuer = '' }: Caller): string => JSON.stringify([issuer, id]);

/** Every caller, while authentication is off. */
export const builtInCaller: User = builtInUser;

/**
 * True if the caller of this route is identified when authentication is on. Probes, pages and documents are open to
 * all.
 */
export const isGuarded = (route: string): boolean => route.startsWith('/api/') || route === '/metrics';

/** Asks nobody who they are either, and tells those whom it knows more. */
export const isReadiness = (route: string): boolean => route === '/readyz';

/** The caller: the user that an authenticator found, put on the request as `caller`, or the built-in one. */
export const userOf = (request: Request & { caller?: User }): User => request.caller ?? builtInUser;

/** The caller of the operation, as a parameter of its handler; `Caller` or, with groups and scopes, `User`. */
export const CallerUser = createParamDecorator((_data: unknown, context: ExecutionContext): User =>
  userOf(context.switchToHttp().getRequest<Request>()),
);

/** The times of the operation's request that the caller may read, as a parameter of its handler. */
export const ReadablePast = createParamDecorator(
  (_data: unknown, context: ExecutionContext): TimeRange =>
    context.switchToHttp().getRequest<Request & { past?: TimeRange }>().past ?? {},
);

/** True if the caller may see what only writers of the operation's request are shown, as a parameter of its handler. */
export const MaySeeSecrets = createParamDecorator(
  (_data: unknown, context: ExecutionContext): boolean =>
    context.switchToHttp().getRequest<Request & { maySeeSecrets?: boolean }>().maySeeSecrets ?? false,
);

/** True if the caller may read the state of the cluster, as a parameter of the handler that anybody may call. */
export const MaySeeState = createParamDecorator(
  (_data: unknown, context: ExecutionContext): boolean =>
    context.switchToHttp().getRequest<Request & { maySeeState?: boolean }>().maySeeState ?? false,
);
