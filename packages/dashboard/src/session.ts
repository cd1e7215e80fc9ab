import { Signal } from './live/signal';
import { view } from './view';

/** 'in': calls are answered. 'out': a call was answered 401, so the page asks for a token. */
export type SignedIn = 'in' | 'out';

const TOKEN = 'muster.token';
const NAME = 'muster.name';
const SENT_TO_LOGIN = 'muster.sent-to-login';

function cookieToken(): string | undefined {
  if (!view.generateAuthHeader || !view.authCookieName) return undefined;
  const begin = `${view.authCookieName}=`;
  const cookie = document.cookie.split('; ').find((each) => each.startsWith(begin));
  if (cookie === undefined) return undefined;
  try {
    const value = JSON.parse(decodeURIComponent(cookie.slice(begin.length))) as Record<string, unknown>;
    const token = value[view.authTokenKey];
    return typeof token === 'string' ? token : undefined;
  } catch {
    return undefined; // made by something else
  }
}

/** Who uses the page. A token is kept for this tab alone, and is gone when the tab is closed. */
class Session {
  readonly state = new Signal<SignedIn>('in');

  token(): string | undefined {
    return cookieToken() ?? sessionStorage.getItem(TOKEN) ?? undefined;
  }

  /** A name that a person gave for themselves, where the service asks for no proof. */
  name(): string | undefined {
    return this.token() === undefined ? (localStorage.getItem(NAME) ?? undefined) : undefined;
  }

  setName(name: string): void {
    if (name === '') localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, name);
  }

  signIn(token: string): void {
    sessionStorage.setItem(TOKEN, token);
    this.state.set('in');
  }

  signOut(): void {
    sessionStorage.removeItem(TOKEN);
    localStorage.removeItem(NAME);
    this.state.set('out');
  }

  accepted(): void {
    sessionStorage.removeItem(SENT_TO_LOGIN);
  }

  /** Once to the page where people sign in, where there is one; when that did not help, the page asks by itself. */
  refused(): void {
    if (view.redirectOnUnauthorizedUrl && sessionStorage.getItem(SENT_TO_LOGIN) === null) {
      sessionStorage.setItem(SENT_TO_LOGIN, 'yes');
      location.assign(view.redirectOnUnauthorizedUrl.replaceAll('{URL}', encodeURIComponent(location.href)));
      return;
    }
    this.state.set('out');
  }
}

export const session = new Session();
