import { Signal } from './live/signal';

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly times: 'relative' | 'exact';
  /** 'browser', 'UTC' or the name of a zone. UTC, unless chosen, is the clock of the log and of the command line. */
  readonly zone: string;
  readonly letterKeys: boolean;
  /** Columns that were chosen, by list; a list that is not here has all of them. */
  readonly columns: Readonly<Record<string, readonly string[]>>;
}

const KEY = 'muster.preferences';
const usual: Preferences = { theme: 'system', times: 'relative', zone: 'UTC', letterKeys: true, columns: {} };

function stored(): Preferences {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    const zone = new URLSearchParams(location.search).get('tz') ?? kept.zone ?? usual.zone;
    return { ...usual, ...kept, zone: isZone(zone) ? zone : usual.zone };
  } catch {
    return usual;
  }
}

export function isZone(name: string): boolean {
  if (name === 'browser') return true;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** What a person prefers, in this browser. */
export const preferences = new Signal<Preferences>(stored());

export function prefer(change: Partial<Preferences>): void {
  preferences.set({ ...preferences.get(), ...change });
  localStorage.setItem(KEY, JSON.stringify(preferences.get()));
  showTheme();
}

export function showTheme(): void {
  const { theme } = preferences.get();
  document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme;
}
