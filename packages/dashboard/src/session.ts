import { Signal } from './live/signal';
import { view } from './view';

/** 'in': calls are answered. 'out': a call was answered 401, so the page asks for a token. */
export type SignedIn = 'in' | 'out';

const TOKEN = 'muster.token';
const NAME = 'muster.name';
const SENT_TO_LOGIN = 'muster.sent-to-login';
const RETURN_TO = 'muster.return-to';

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

/**
 * Who uses the page. As a rule the service gives the browser a cookie that no script can read. Where its settings have none, a token is
 * kept for this tab alone, and is gone when the tab is closed.
 */
class Session {
  readonly state = new Signal<SignedIn>('in');
  private readonly tabs = new BroadcastChannel('muster.session');

  constructor() {
    // Somebody has signed in in another tab, perhaps somebody else: what this one has read is read again.
    this.tabs.onmessage = () => {
      this.state.set('out');
      this.state.set('in');
    };
  }

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

  /** Without a token by a cookie, which is that of all tabs. */
  begin(token?: string): void {
    this.end();
    if (token === undefined) this.tabs.postMessage('in');
    else sessionStorage.setItem(TOKEN, token);
    this.state.set('in');
  }

  /**
   * To the provider and back: in a window of its own, so that what is on this page stays, or, where the browser opens none, in this
   * one. The page that people come back to calls `begin`.
   */
  visitProvider(url: string): void {
    if (window.open(url, '_blank', 'popup,width=520,height=720') !== null) return;
    sessionStorage.setItem(RETURN_TO, location.href);
    location.assign(url);
  }

  /** Where one came from, once. */
  takeReturn(): string | null {
    const address = sessionStorage.getItem(RETURN_TO);
    sessionStorage.removeItem(RETURN_TO);
    return address;
  }

  end(): void {
    sessionStorage.removeItem(TOKEN);
    localStorage.removeItem(NAME);
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
