import type { Request } from 'express';
import { givenUrls } from '../../../platform/http/context-path.js';
import type { Settings } from '../../../platform/settings/settings.js';

/** Whether the call says that it comes from a page of this service: a browser says it, and a page cannot change it. */
export function isOwnOrigin(request: Request, settings: Pick<Settings, 'advertisedUrl' | 'ui'>): boolean {
  const origin = request.get('origin');
  if (origin === undefined) return false;
  const own = [`${request.protocol}://${request.get('host') ?? ''}`, ...givenUrls(settings).map(({ href }) => href)];
  return own.some((url) => originOf(url) === originOf(origin));
}

/** Without the usual port. A text that is no URL stays as it is. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}
