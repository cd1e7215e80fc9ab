import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

/** Who makes a call. */
export interface Caller {
  id: string;
  email?: string;
}

/** Everybody, while authentication is off. */
export const builtInCaller: Caller = { id: 'scheduler' };

/** The caller of the operation, as a parameter of its handler. An authenticator puts it on the request as `caller`. */
export const CallerUser = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Caller =>
    context.switchToHttp().getRequest<Request & { caller?: Caller }>().caller ?? builtInCaller,
);
