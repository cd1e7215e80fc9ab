import { followEvents, type Event } from 'muster-client';
import type { QueryClient } from '@tanstack/react-query';
import { muster } from '../api';
import { note } from './activity';
import { requests } from './requests';
import { outdatedBy, outdatedLaterBy, type ReadKey } from './outdated';
import { readAgain } from './read-again';
import { Signal } from './signal';

/** 'live': events come. 'paused': nobody looks at this tab. 'away': the stream was cut and is tried again. */
export type Connection = 'connecting' | 'live' | 'away' | 'paused';

export const connection = new Signal<Connection>('connecting');

/** A hidden tab gives its connection to others: a browser has six of them for one service. */
const HIDDEN_MS = 30_000;
const READ_AGAIN_MS = 1_000;
const READ_LATER_MS = 10_000;

/** Keeps up what is shown, from one stream of events for all of the page. */
export class LiveStream {
  private lastEventId: string | undefined;
  private running: AbortController | undefined;
  private hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly soon = new OutdatedKeys(READ_AGAIN_MS, (key) => void readAgain(this.queries, key));
  private readonly later = new OutdatedKeys(READ_LATER_MS, (key) => void readAgain(this.queries, key));
  private wasCut = false;

  constructor(private readonly queries: QueryClient) {}

  start(): void {
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.hiddenTimer);
      if (document.hidden) this.hiddenTimer = setTimeout(() => this.stop(), HIDDEN_MS);
      else if (this.running === undefined) void this.follow();
    });
    void this.follow();
  }

  /** After signing in: another caller may see other things. */
  restart(): void {
    this.running?.abort();
    this.running = undefined;
    this.readEverything();
    void this.follow();
  }

  private stop(): void {
    this.running?.abort();
    this.running = undefined;
    this.wasCut = true;
    connection.set('paused');
  }

  private async follow(): Promise<void> {
    const running = new AbortController();
    this.running = running;
    const options = {
      signal: running.signal,
      patienceMs: Number.MAX_SAFE_INTEGER,
      onConnection: (state: 'open' | 'away') => this.connected(state),
    };
    try {
      for await (const told of followEvents(muster, { lastEventId: this.lastEventId }, options)) {
        this.lastEventId = told.id;
        if (told.kind === 'reset') this.readEverything();
        else {
          note({ id: told.id, event: told.event });
          this.apply(told.event);
        }
      }
    } catch {
      if (running.signal.aborted) return;
      connection.set('away'); // refused, as without a token: signing in begins it anew
      this.running = undefined;
    }
  }

  private connected(state: 'open' | 'away'): void {
    connection.set(state === 'open' ? 'live' : 'away');
    if (state === 'away') this.wasCut = true;
    else if (this.wasCut) {
      this.wasCut = false;
      this.readEverything();
    }
  }

  private apply(event: Event): void {
    requests.apply(event);
    this.soon.add(outdatedBy(event));
    this.later.add(outdatedLaterBy(event));
  }

  private readEverything(): void {
    void requests.rows.load().catch(() => undefined);
    void readAgain(this.queries);
  }
}

/** Keys that are told together, some time after the first of them. */
class OutdatedKeys {
  private readonly keys = new Map<string, ReadKey>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly afterMs: number,
    private readonly tell: (key: ReadKey) => void,
  ) {}

  add(keys: readonly ReadKey[]): void {
    if (keys.length === 0) return;
    for (const key of keys) this.keys.set(key.join('\n'), key);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const all = [...this.keys.values()];
      this.keys.clear();
      for (const key of all) this.tell(key);
    }, this.afterMs);
  }
}
