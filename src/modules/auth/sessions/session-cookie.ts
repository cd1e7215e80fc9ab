import type { CookieOptions, Response } from 'express';
import { rootPathOf } from '../../../platform/http/context-path.js';
import type { Settings } from '../../../platform/settings/settings.js';
import { originOf } from '../authenticators/own-origin.js';
import type { NewSession } from './sessions.service.js';

type CookieSettings = Pick<Settings, 'ui' | 'http'>;

/** No script reads it, no page of another site sends it along, and it goes to this service alone. */
const optionsOf = (settings: CookieSettings, pageUrl: string): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  path: pathOf(settings),
  // By what the browser sees: a proxy may speak TLS for this service.
  secure: originOf(pageUrl).startsWith('https:'),
});

/** Path of the root of the service for browsers. */
export const pathOf = (settings: CookieSettings): string => rootPathOf(settings) || '/';

/** `pageUrl`: an address of this service as the browser has it. */
export function setSessionCookie(response: Response, settings: Settings, session: NewSession, pageUrl: string): void {
  const options = { ...optionsOf(settings, pageUrl), maxAge: session.lastsMillis };
  response.cookie(settings.ui.authCookieName, session.text, options);
}

export function clearSessionCookie(response: Response, settings: Settings, pageUrl: string): void {
  response.clearCookie(settings.ui.authCookieName, optionsOf(settings, pageUrl));
}
