import { hostname } from 'node:os';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { bracketed, isLocalName, isLoopbackAddress, plainHost } from '../addresses.js';
import { SchedulerError } from '../errors.js';
import type { Settings } from '../settings/settings.js';
import { calledHost } from './addresses-of-call.js';
import { givenUrls } from './context-path.js';

type BoundarySettings = Pick<Settings, 'cors' | 'enableCorsFilter' | 'http'> &
  Partial<Pick<Settings, 'host' | 'advertisedUrl' | 'ui'>>;

const everywhere = new Set(['0.0.0.0', '::']);
/** A name or an address, with a port or without. Nothing else may stand in the header Host. */
const hostHeader = /^(\[[\da-f:.]+\]|[a-z\d_]([\w-]*[a-z\d_])?(\.[a-z\d_]([\w-]*[a-z\d_])?)*\.?)(:\d{1,5})?$/i;
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Values of a browser's header for a call that a page of another origin makes. */
const foreignSites = new Set(['cross-site', 'same-site']);

/**
 * A browser runs pages of any origin beside those of this service, on machines that reach it, and lets them send calls. So
 * before anything of a call is done:
 *
 * - Its Host has to be a name of this service (421). A page whose own name was made to resolve to this machine is same-origin
 *   for the browser, and would read everything; by the name it is known.
 * - If it may change something, it must not come from a page of another origin (403), unless the settings for CORS allow that
 *   origin. A browser says where the page is from, and a page cannot change what it says. Other callers say nothing of it.
 */
export function refuseForeignPages(settings: BoundarySettings): RequestHandler {
  const isOwnHost = ownHosts(settings);
  const isOwnOrigin = ownOrigins(settings);
  const isAllowedOrigin = allowedOrigins(settings);
  return (request: Request, _response: Response, next: NextFunction) => {
    const { host, origin } = request.headers;
    if (countOf(request, 'host') > 1)
      return next(new SchedulerError('MALFORMED_CALL', 'The header Host is given twice'));
    // Only HTTP/1.0 goes without, which no browser speaks.
    const unknown = [host, hostOfTarget(request)].find((name) => name !== undefined && !isOwnHost(name, request));
    if (unknown !== undefined) {
      const message = `This service is not known as '${unknown}'; the setting http.allowedHosts names its further names`;
      return next(new SchedulerError('UNKNOWN_HOST', message));
    }
    if (safeMethods.has(request.method)) return next();
    const isForeign =
      origin === undefined
        ? foreignSites.has(String(request.headers['sec-fetch-site']))
        : !isOwnOrigin(origin, host) && !isAllowedOrigin(origin);
    if (!isForeign) return next();
    const page = origin === undefined ? 'another site' : `'${origin}'`;
    const message = `A page of ${page} must not change anything here; the settings below cors name the origins that may`;
    next(new SchedulerError('FOREIGN_ORIGIN', message));
  };
}

/** A call for a proxy names the host in its first line, too. What cannot be read there is no name of ours. */
function hostOfTarget({ originalUrl }: Request): string | undefined {
  if (originalUrl.startsWith('/') || originalUrl === '*') return undefined;
  return URL.canParse(originalUrl) ? new URL(originalUrl).host : originalUrl;
}

/** Names and values by turns; every call comes by here. */
function countOf({ rawHeaders }: Request, name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]!;
    if (given.length === name.length && given.toLowerCase() === name) count++;
  }
  return count;
}

/** Loopback names, the address that the call came in by, the bound, advertised and base address, and those allowed to be called. */
function ownHosts(settings: BoundarySettings) {
  const { host = '', http } = settings;
  const names = new Set(http.allowedHosts.filter((name) => !name.startsWith('*.')).map(nameOf));
  const suffixes = http.allowedHosts.filter((name) => name.startsWith('*.')).map((name) => nameOf(name.slice(1)));
  names.add(nameOf(everywhere.has(host) ? hostname() : bracketed(host)));
  for (const { hostname: given } of givenUrls(settings)) names.add(nameOf(given));
  return (given: string, request: Request): boolean => {
    if (!hostHeader.test(given)) return false;
    const name = nameOf(given);
    return (
      names.has(name) ||
      name === calledHost(request) ||
      isLocalName(name) ||
      isLoopbackAddress(plainHost(name)) ||
      suffixes.some((suffix) => name.endsWith(suffix))
    );
  };
}

/** Without its port and the dot of the root, in small letters. */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');

/** The host that was called, port included: what else is served on this machine is another origin. */
function ownOrigins(settings: BoundarySettings) {
  const ofSettings = [...givenUrls(settings).map(({ host }) => host), ...settings.http.allowedHosts];
  return (origin: string, host: string | undefined): boolean => {
    if (!URL.canParse(origin)) return false;
    const { protocol, host: from } = new URL(origin);
    if (protocol !== 'http:' && protocol !== 'https:') return false;
    // A proxy that speaks HTTPS for this service leaves out, or adds, the port that is usual for it.
    const own = [host ?? '', ...ofSettings];
    return own.some((name) => URL.canParse(`${protocol}//${name}`) && new URL(`${protocol}//${name}`).host === from);
  };
}

function allowedOrigins({ cors, enableCorsFilter }: BoundarySettings) {
  const allowed = new Set(cors.enabled || enableCorsFilter ? cors.allowedOrigins : []);
  return (origin: string): boolean => allowed.has('*') || allowed.has(origin);
}
