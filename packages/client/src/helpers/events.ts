import { BrokenResponse } from 'rest-contract/fetch';
import type { Muster } from '../generated/operations.js';
import type { Event } from '../generated/records.js';
import { anySignal } from '../transport.js';
import { Waiting, type WaitOptions } from './waiting.js';

type StreamArgs = NonNullable<Parameters<Muster['events']['stream']>[0]>;

export interface FollowEventsOptions extends Omit<WaitOptions, 'timeoutMs'> {
  /** After how long without a sign of life the connection is given up and made anew; 90 seconds unless given. */
  readonly silenceMs?: number | undefined;
  /**
   * Called each time the stream has begun, and each time it was cut or could not be begun, before it is tried again.
   */
  readonly onConnection?: ((state: 'open' | 'away') => void) | undefined;
}

/** An event, or the word that some before it are not kept any more: then what is shown has to be read again. */
export type FollowedEvent =
  | { readonly kind: 'event'; readonly id: string; readonly event: Event }
  | { readonly kind: 'reset'; readonly id: string; readonly message: string };

const SILENCE_MS = 90_000;

/**
 * Tells what happens, as it happens, until the signal ends it. After a cut it goes on behind the last event, so that nothing is
 * lost and nothing comes twice.
 */
export async function* followEvents(
  muster: Muster,
  wish: StreamArgs = {},
  { silenceMs = SILENCE_MS, onConnection, ...options }: FollowEventsOptions = {},
): AsyncGenerator<FollowedEvent, void, undefined> {
  const waiting = new Waiting('Following events', options, 200, 5_000);
  let { lastEventId } = wish;
  for (;;) {
    const silence = new Silence(silenceMs, options.signal);
    try {
      const bytes = await muster.events.stream({ ...wish, lastEventId }, { signal: silence.signal });
      onConnection?.('open');
      for await (const block of blocksOf(bytes)) {
        silence.isBroken();
        waiting.isBack();
        waiting.quicken();
        const { id = lastEventId ?? '', event, data } = block;
        lastEventId = id;
        if (data === undefined) continue;
        const told = JSON.parse(data) as Event & { message: string };
        if (event === 'end') break;
        yield event === 'reset' ? { kind: 'reset', id, message: told.message } : { kind: 'event', id, event: told };
      }
    } catch (cause) {
      options.signal?.throwIfAborted();
      const isCut = cause instanceof BrokenResponse || silence.signal.aborted;
      if (!isCut) waiting.bear(cause);
    } finally {
      silence.end();
    }
    onConnection?.('away');
    await waiting.pause();
  }
}

/** Gives a connection up that says nothing for a while: one that is dead does not tell. */
class Silence {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout>;
  readonly signal: AbortSignal;

  constructor(
    private readonly silenceMs: number,
    outer: AbortSignal | undefined,
  ) {
    this.signal = outer ? anySignal(outer, this.controller.signal) : this.controller.signal;
    this.timer = this.begin();
  }

  isBroken(): void {
    clearTimeout(this.timer);
    this.timer = this.begin();
  }

  /** Closes the connection, too: the reader may have turned away in the middle. */
  end(): void {
    clearTimeout(this.timer);
    this.controller.abort();
  }

  private begin() {
    return setTimeout(() => this.controller.abort(new Error('The stream of events went silent')), this.silenceMs);
  }
}

type Block = { readonly id?: string; readonly event?: string; readonly data?: string };

/** The blocks of a stream of server-sent events. Those of the service have one line of data each. */
async function* blocksOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Block, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const texts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = texts.pop()!;
    for (const text of texts) {
      const lines = text.split('\n').map((line) => /^(id|event|data): ?(.*)$/.exec(line));
      yield Object.fromEntries(lines.flatMap((match) => (match ? [[match[1], match[2]]] : [])));
    }
  }
}
