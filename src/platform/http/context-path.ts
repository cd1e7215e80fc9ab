import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { SchedulerError } from '../errors.js';
import { isAtRoot } from '../settings/page-settings.js';
import type { Settings } from '../settings/settings.js';
import { calledHost } from './addresses-of-call.js';

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

/** Addresses that the settings give the service. */
export const givenUrls = ({ advertisedUrl = '', ui }: Partial<Pick<Settings, 'advertisedUrl' | 'ui'>>): URL[] =>
  [advertisedUrl, ui?.baseUrl ?? ''].flatMap((url) => (URL.canParse(url) ? [new URL(url)] : []));

/** Its path alone, which is the same under all names of the service; empty: there is none. */
export function rootPathOf(settings: Pick<Settings, 'ui' | 'http'>): string {
  const root = rootOf(settings);
  return URL.canParse(root) ? new URL(root).pathname.replace(/\/+$/, '') : root;
}

/**
 * The root of the service as a whole URL with a slash at its end: `ui.baseUrl` if that is a URL, else the advertised URL with its
 * path, else the address that was called.
 */
export function rootUrlOf(settings: Pick<Settings, 'ui' | 'http' | 'advertisedUrl'>, request: Request): string {
  const { advertisedUrl, ui } = settings;
  const hasPath = advertisedUrl !== undefined && new URL(advertisedUrl).pathname !== '/';
  if (hasPath && ui.baseUrl === '') return `${advertisedUrl}/`;
  const root = rootOf(settings);
  return new URL(`${root}/`, URL.canParse(root) ? undefined : (advertisedUrl ?? calledUrl(request))).href;
}

/** By its header Host, which is one of this service: others were refused. Some names of loopback are in no URL. */
function calledUrl(request: Request): string {
  const byName = `${request.protocol}://${request.get('host') ?? ''}`;
  return URL.canParse(byName) ? byName : `${request.protocol}://${calledHost(request)}:${request.socket.localPort}`;
}
