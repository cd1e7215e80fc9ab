import { applyDecorators, Injectable, UseGuards, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { Request } from 'express';
import { SchedulerError } from '../errors.js';

const bodiless = new WeakSet<object>();

/** Said by the parser, which reads a body that is missing as one without members. */
export function markBodiless(request: object): void {
  bodiless.add(request);
}

@Injectable()
class BodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (!bodiless.has(context.switchToHttp().getRequest<Request>())) return true;
    const message = 'A body is required; it may be {}';
    throw SchedulerError.invalid('INVALID_REQUEST', [{ field: '', rule: 'required', message }]);
  }
}

/** How the served document says so, until it is written. */
export const needsBody = 'x-needs-body';

/** On a handler of which every member may be absent, and where doing that by mistake is not harmless: 400 without a body. */
export const NeedsBody = () => applyDecorators(UseGuards(BodyGuard), ApiExtension(needsBody, true));
