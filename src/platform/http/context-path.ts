import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { SchedulerError } from '../errors.js';
import { isAtRoot } from '../settings/page-settings.js';
import type { Settings } from '../settings/settings.js';
import { calledAddress } from './addresses-of-call.js';

/**
 * Takes the context path off every call, as it stands and no other way of writing it, before anything is decided by the path: so
 * all that comes later knows one form of it, and there is no second one to get past a check. Without it there is nothing, but what
 * answers at the root, too.
 */
export function belowContextPath({ contextPath }: Settings['http']): RequestHandler {
  return (request: Request, _response: Response, next: NextFunction) => {
    const url = urlBelow(contextPath, request.url);
    if (url === undefined) {
      const message = `There is nothing outside of ${contextPath}, the context path of this service`;
      return next(new SchedulerError('NOT_FOUND', message));
    }
    request.url = url;
    next();
  };
}

/** undefined: it lies outside. */
function urlBelow(contextPath: string, url: string): string | undefined {
  // A proxy may be called by the whole address, which a service has to understand as well.
  const target = url.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  const below = target.slice(contextPath.length);
  if (target.startsWith(contextPath) && /^([/?]|$)/.test(below)) return below.startsWith('/') ? below : `/${below}`;
  return isAtRoot(target.split('?', 1)[0]!) ? url : undefined;
}

/** The root of the service as callers write it: by the proxy that has another one for it, else as it is served. */
export const rootOf = ({ ui, http }: Pick<Settings, 'ui' | 'http'>): string =>
  ui.baseUrl.replace(/\/+$/, '') || http.contextPath;

/**
 * The root of the service as a whole URL with a slash at its end: below `ui.baseUrl` if that is a URL, else below the advertised
 * URL, else below the address that was called.
 */
export function rootUrlOf(settings: Pick<Settings, 'ui' | 'http' | 'advertisedUrl'>, request: Request): string {
  // Its header Host is one of this service: others were refused.
  const called = settings.advertisedUrl ?? `${request.protocol}://${request.get('host') ?? calledAddress(request)}`;
  return new URL(`${rootOf(settings)}/`, called).href;
}
