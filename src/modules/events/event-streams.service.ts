import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { User } from '../../core/authorization/index.js';
import { Clock } from '../../platform/clock.js';
import { inParallel } from '../../platform/async.js';
import { SchedulerError } from '../../platform/errors.js';
import { callerAddress } from '../../platform/http/addresses-of-call.js';
import { goesOnWithoutEnd } from '../../platform/http/admission.js';
import { CallsInFlight } from '../../platform/http/calls-in-flight.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { Access } from '../auth/access/access.service.js';
import { Authentication } from '../auth/authenticators/authentication.service.js';
import { EventFeed } from './event-feed.service.js';
import type { EventPage } from './event-page.js';
import { EventSights, type EventFilter } from './event-sights.service.js';
import { EventStream, type EventWish, type Slice } from './event-stream.js';
import { ReplayRate } from './replay-rate.js';

const lookEveryMillis = 250;
/** Interval in which a change of a user's groups takes effect where nothing reports it. Revoked tokens are reported. */
const identifyEveryMillis = 15_000;
const identifiedAtOnce = 16;
/** For so long a stream goes on while it cannot be found out who reads it. */
const unknownMillis = 60_000;
const pagesAtOnce = 16;

/** All streams of this instance: lets clients in, brings each to the present, and passes on what the feed tells. */
@Injectable()
export class EventStreams implements OnModuleDestroy {
  private readonly log = new Logger(EventStreams.name);
  private readonly streams = new Set<EventStream>();
  private readonly byCaller = new Map<string, number>();
  private readonly replays: ReplayRate;
  private joining = 0;
  private timer: NodeJS.Timeout | undefined;
  private stopListening: (() => void) | undefined;
  private identifiedAt = 0;
  private isIdentifying = false;
  private isToIdentify = false;
  readonly figures = { sent: 0, cut: 0, resets: 0, refused: 0 };

  constructor(
    private readonly feed: EventFeed,
    private readonly sights: EventSights,
    private readonly access: Access,
    private readonly authentication: Authentication,
    private readonly calls: CallsInFlight,
    private readonly wake: Wake,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.replays = new ReplayRate(settings.events.maxReplaysPerMinute);
    calls.stopped.addEventListener('abort', () => this.endAll());
  }

  get count(): number {
    return this.streams.size;
  }

  /** Bytes that wait in all streams together. */
  get waitingBytes(): number {
    return [...this.streams].reduce((sum, stream) => sum + stream.waitingBytes, 0);
  }

  /** Resolves once the stream has begun; it goes on until one side ends it. `after`: the last event that the client has. */
  async serve(request: Request, response: Response, user: User, wish: EventWish, after?: number): Promise<void> {
    if (response.destroyed) return;
    const caller = this.access.enabled ? `user ${user.id}` : `address ${callerAddress(request)}`;
    this.takePlace(caller);
    let hasLeft = false;
    const leave = (): void => {
      if (!hasLeft) this.leave(caller);
      hasLeft = true;
    };
    response.once('close', leave);
    let isThere: boolean;
    try {
      await this.feed.begin((page) => this.tell(page));
      if (after !== undefined && after < this.feed.cursor) this.takeReplay(caller);
      isThere = after === undefined || (await this.feed.has(after));
    } catch (cause) {
      leave();
      throw cause;
    }
    if (response.destroyed) return;
    goesOnWithoutEnd(request);
    response.writeHead(200, headers);
    if (request.method === 'HEAD') return void response.end();
    const { maxBufferedBytes } = this.settings.events;
    const start = after ?? this.feed.cursor;
    const stream = new EventStream(request, response, user, wish, start, maxBufferedBytes, () => this.catchUp(stream));
    this.streams.add(stream);
    response.once('close', () => this.streams.delete(stream));
    this.watch();
    response.write(`retry: 1000\nid: ${start}\n\n`);
    if (!isThere) this.reset(stream);
    this.catchUp(stream);
    if (this.calls.stopped.aborted) stream.end('STOPPING');
  }

  private takePlace(caller: string): void {
    const { maxStreams, maxStreamsPerCaller } = this.settings.events;
    const own = this.byCaller.get(caller) ?? 0;
    if (this.joining >= maxStreams || own >= maxStreamsPerCaller) this.figures.refused++;
    if (this.joining >= maxStreams) {
      throw new SchedulerError('UNAVAILABLE', `${maxStreams} event streams are open here, which is the limit`);
    }
    if (own >= maxStreamsPerCaller) {
      const message = `${maxStreamsPerCaller} event streams of yours are open here, which is the limit`;
      throw new SchedulerError('TOO_MANY_STREAMS', message);
    }
    this.joining++;
    this.byCaller.set(caller, own + 1);
  }

  private takeReplay(caller: string): void {
    try {
      this.replays.take(caller, performance.now());
    } catch (cause) {
      this.figures.refused++;
      throw cause;
    }
  }

  private leave(caller: string): void {
    this.joining--;
    const left = this.byCaller.get(caller)! - 1;
    if (left > 0) this.byCaller.set(caller, left);
    else this.byCaller.delete(caller);
    if (this.joining === 0) this.rest();
  }

  private watch(): void {
    this.timer ??= setInterval(() => this.look(), lookEveryMillis);
    this.stopListening ??= this.wake.on('tokens', () => void this.identify());
  }

  private rest(): void {
    this.feed.rest();
    clearInterval(this.timer);
    this.timer = undefined;
    this.stopListening?.();
    this.stopListening = undefined;
  }

  onModuleDestroy(): void {
    this.endAll();
    this.rest();
  }

  private endAll(): void {
    for (const stream of this.streams) stream.end('STOPPING');
  }

  /** Streams that stand where the page begins are sent it; the others are on their way there. */
  private async tell(page: EventPage): Promise<void> {
    const sent = new Map<string, Slice>();
    const sights = new Map<string, EventFilter>();
    for (const stream of this.streams) {
      if (stream.isCatchingUp || stream.cursor >= page.upTo) continue;
      if (stream.cursor !== page.after || stream.isFull) {
        this.catchUp(stream);
        continue;
      }
      const viewer = this.viewerOf(stream.user);
      let sight = sights.get(viewer);
      if (!sight) {
        const looked = this.sights.of(stream.user, page);
        sight = looked instanceof Promise ? await this.lookedAt(looked) : looked;
        if (!sight) return;
        sights.set(viewer, sight);
        // It may have moved on meanwhile.
        if (stream.cursor !== page.after || stream.isCatchingUp) continue;
      }
      this.send(stream, page, sight, (make) => {
        const key = `${viewer} ${stream.likeness}`;
        const made = sent.get(key) ?? make();
        sent.set(key, made);
        return made;
      });
      if (stream.cursor < page.upTo) this.catchUp(stream);
    }
  }

  /** undefined: the database is away. Then the streams are brought on by `look`. */
  private async lookedAt(looked: Promise<EventFilter>): Promise<EventFilter | undefined> {
    try {
      return await looked;
    } catch (cause) {
      this.log.debug(`Events wait until it is known who may hear of them: ${String(cause)}`);
      return undefined;
    }
  }

  /** Callers with the same key see the same. */
  private viewerOf(user: User): string {
    if (!this.access.enabled || this.access.isAdmin(user)) return '';
    return JSON.stringify([user.id, user.issuer, user.groups, user.scopes]);
  }

  private send(stream: EventStream, page: EventPage, sight: EventFilter, shared: (make: () => Slice) => Slice): void {
    if (!this.isProven(stream)) return stream.end('UNAUTHENTICATED');
    if (stream.cursor < page.forgottenUpTo) this.figures.resets++;
    const before = stream.cursor;
    stream.send(page, sight, shared);
    this.figures.sent += stream.cursor - before;
  }

  private reset(stream: EventStream): void {
    this.figures.resets++;
    stream.reset(this.feed.cursor);
  }

  /** Page after page, until it is where the feed is or so much waits for it that it has to read first. */
  private catchUp(stream: EventStream): void {
    if (stream.isCatchingUp) return;
    stream.isCatchingUp = true;
    this.sendNext(stream)
      .catch((cause: unknown) => this.log.debug(`An event stream waits: ${String(cause)}`))
      .finally(() => (stream.isCatchingUp = false));
  }

  private async sendNext(stream: EventStream): Promise<void> {
    for (let pages = 1; stream.isOpen && !stream.isFull && stream.cursor < this.feed.cursor; pages++) {
      const next = this.feed.next(stream.cursor);
      const page = next instanceof Promise ? await next : next;
      const looked = this.sights.of(stream.user, page);
      const sight = looked instanceof Promise ? await looked : looked;
      this.send(stream, page, sight, (make) => make());
      if (pages % pagesAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  private look(): void {
    const now = performance.now();
    const { stalledMillis, heartbeatMillis } = this.settings.events;
    for (const stream of this.streams) {
      if (!this.isProven(stream)) stream.end('UNAUTHENTICATED');
      else if (stream.stuckMillis(now) > stalledMillis) {
        this.figures.cut++;
        stream.cut();
      } else {
        if (stream.cursor < this.feed.cursor) this.catchUp(stream);
        stream.beat(now, heartbeatMillis);
      }
    }
    if (now - this.identifiedAt > identifyEveryMillis) void this.identify();
  }

  private isProven({ user }: EventStream): boolean {
    return !this.access.enabled || user.provenUntil === undefined || this.clock.now() < user.provenUntil;
  }

  /** Identifies the caller of every stream again: tokens are revoked, and users change their groups. */
  private async identify(): Promise<void> {
    this.identifiedAt = performance.now();
    if (!this.access.enabled) return;
    this.isToIdentify = true;
    if (this.isIdentifying) return;
    this.isIdentifying = true;
    // Asked for while it goes on, it is done once more: a token may have been revoked behind the stream that it is at.
    while (this.isToIdentify) {
      this.isToIdentify = false;
      await inParallel([...this.streams], identifiedAtOnce, (stream) => this.identifyAgain(stream));
    }
    this.isIdentifying = false;
  }

  private async identifyAgain(stream: EventStream): Promise<void> {
    try {
      const user = await this.authentication.identifyAgain(stream.request);
      if (!user) return stream.end('UNAUTHENTICATED');
      stream.user = user;
      stream.identifiedAt = performance.now();
    } catch (cause) {
      this.log.debug(`The caller of an event stream is asked for again later: ${String(cause)}`);
      if (performance.now() - stream.identifiedAt > unknownMillis) stream.end('UNAUTHENTICATED');
    }
  }
}

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Nothing on the way keeps it back: neither what packs answers nor a proxy.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};
