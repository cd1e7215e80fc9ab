import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { builtInUser, type User } from '../../core/authorization/access-rules.js';
import type { TimeRange } from '../../core/authorization/incarnations.js';

/** What most operations want to know of who makes a call. */
export type Caller = Pick<User, 'id' | 'email'>;

/** Every caller, while authentication is off. */
export const builtInCaller: User = builtInUser;

/** Whether it is asked who calls this route, if authentication is on. Probes, pages and documents are open to all. */
export const isGuarded = (route: string): boolean => route.startsWith('/api/') || route === '/metrics';

/** Asks nobody who they are either, and tells those whom it knows more. */
export const isReadiness = (route: string): boolean => route === '/readyz';

/** Who makes a call: the user that an authenticator found, put on the request as `caller`, or the built-in one. */
export const userOf = (request: Request & { caller?: User }): User => request.caller ?? builtInUser;

/** The caller of the operation, as a parameter of its handler; `Caller` or, with groups and scopes, `User`. */
export const CallerUser = createParamDecorator((_data: unknown, context: ExecutionContext): User =>
  userOf(context.switchToHttp().getRequest<Request>()),
);

/** Of what times the caller may be told about the request of the operation, as a parameter of its handler. */
export const ReadablePast = createParamDecorator(
  (_data: unknown, context: ExecutionContext): TimeRange =>
    context.switchToHttp().getRequest<Request & { past?: TimeRange }>().past ?? {},
);

/** Whether the caller may see what only writers of the request of the operation are shown, as a parameter of its handler. */
export const MaySeeSecrets = createParamDecorator(
  (_data: unknown, context: ExecutionContext): boolean =>
    context.switchToHttp().getRequest<Request & { maySeeSecrets?: boolean }>().maySeeSecrets ?? false,
);

/** Whether the caller may read the state of the cluster, as a parameter of the handler that anybody may call. */
export const MaySeeState = createParamDecorator(
  (_data: unknown, context: ExecutionContext): boolean =>
    context.switchToHttp().getRequest<Request & { maySeeState?: boolean }>().maySeeState ?? false,
);
