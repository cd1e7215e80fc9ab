import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { AggregatorRegistry } from 'prom-client';
import { backOffMillis } from '../../../platform/async.js';
import {
  type Doorway,
  type Figures,
  leaderOnly,
  type Opened,
  type Part,
  type WorkerCounts,
} from '../../../platform/process/part.js';
import { type Word, Words } from '../../../platform/process/words.js';
import { tellFailure } from '../../../platform/tell-failure.js';
import { howManyWorkers, poolOf, type Room } from './how-many.js';
import { type Given, Place } from './place.js';

/** One that served for so long did not fail because of how it starts. */
const longEnoughMillis = 10_000;
const firstPauseMillis = 500;
const longestPauseMillis = 30_000;
const lookEveryMillis = 5_000;
/** Longer than calls in flight are given to end. */
const stopsWithinMillis = 20_000;
/** Connections that wait while there is no worker. */
const mostWaiting = 1_000;

/**
 * The API workers of `muster start`, each in a place that is filled again when it ends. They share the port, on which this
 * process accepts connections for them in turn. It does nothing else of a call: what is slow or large keeps it from nothing.
 */
export class Workers {
  readonly part: Part;
  private readonly log = new Logger('Workers');
  private readonly places: Place[];
  private readonly words = new Words((word) => this.spread(word));
  private readonly stopping = new AbortController();
  /** Paused: not a byte is read here. */
  private readonly door = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => this.give(socket));
  private readonly waiting: Socket[] = [];
  private turn = 0;
  private looking: NodeJS.Timeout | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private forget: (id: string) => Promise<unknown> = () => Promise.resolve();
  private ended = 0;
  /** What those counted that have ended. Otherwise a counter would go back when one is replaced. */
  private counted: Promise<Figures> = Promise.resolve([]);

  /** undefined: this process serves the API itself. */
  static of(settings: Given['settings'], agentFolder: string, room: Room): Workers | undefined {
    const count = howManyWorkers(settings.http.workers, room);
    return count === 0 ? undefined : new Workers(count, settings, agentFolder);
  }

  private constructor(
    count: number,
    private readonly settings: Given['settings'],
    private readonly agentFolder: string,
  ) {
    this.places = Array.from({ length: count }, (_, index) => new Place(index + 1));
    this.part = leaderOnly(randomBytes(24).toString('base64url'), {
      openWorkers: (instanceId, doorway) => this.open(instanceId, doorway),
      workers: () => this.counts(),
      figuresOfOthers: () => this.figures(),
      words: this.words,
    });
  }

  /** Process ids of those that are there. */
  get pids(): number[] {
    return this.places.flatMap(({ pid }) => pid ?? []);
  }

  /** Called with the id of each that ended. */
  onEnd(listener: (id: string) => Promise<unknown>): void {
    this.forget = listener;
  }

  /** Those that do not end in time are ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearInterval(this.looking);
    for (const socket of this.waiting.splice(0)) socket.destroy();
    for (const place of this.places) place.stop();
    const late = setTimeout(() => {
      for (const place of this.places) place.kill();
    }, stopsWithinMillis);
    await this.running;
    clearTimeout(late);
    this.door.close();
  }

  /** To the workers in turn; one that does not take what it was given gets no more. While none serves, it waits for one. */
  private give(socket: Socket): void {
    // It may break off before a worker has it.
    if (socket.listenerCount('error') === 0) socket.on('error', () => undefined);
    const { length } = this.places;
    let chosen: number | undefined;
    for (let tried = 0; tried < length; tried++) {
      const index = (this.turn + tried) % length;
      const { serves, burden } = this.places[index]!;
      if (serves && (chosen === undefined || burden < this.places[chosen]!.burden)) chosen = index;
    }
    if (chosen !== undefined) {
      this.turn = chosen + 1;
      return this.places[chosen]!.take(socket);
    }
    if (this.stopping.signal.aborted || this.waiting.length >= mostWaiting) socket.destroy();
    else this.waiting.push(socket);
  }

  private async open(instanceId: string, doorway: Doorway): Promise<Opened> {
    const { host, port: wanted } = this.settings;
    this.door.listen(wanted, host);
    await once(this.door, 'listening');
    this.door.on('error', (cause) => tellFailure(this.log, 'A connection could not be accepted', cause));
    const { port } = this.door.address() as AddressInfo;
    const { length } = this.places;
    const given: Given = {
      settings: shareOf(this.settings, length),
      agentFolder: this.agentFolder,
      instanceId,
      doorway,
      port,
      connections: poolOf(length),
    };
    const begun = this.places.map((place) => this.keep(place, given));
    this.running = Promise.all(begun.map(({ over }) => over));
    this.looking = setInterval(() => this.places.forEach((place) => this.look(place)), lookEveryMillis);
    return { port, serving: Promise.all(begun.map(({ serves }) => serves)) };
  }

  private look(place: Place): void {
    if (place.look()) this.log.error(`API worker ${place.number} (process ${place.pid}) does not answer, and is ended`);
  }

  /** `serves`: the first one in this place does, or could not begin. `over`: none is in it any more. */
  private keep(place: Place, given: Given): { serves: Promise<void>; over: Promise<void> } {
    let over: Promise<void>;
    const serves = new Promise<void>((resolve, reject) => (over = this.keepOn(place, given, resolve, reject)));
    return { serves, over: over! };
  }

  private async keepOn(place: Place, given: Given, served: () => void, failed: (cause: Error) => void): Promise<void> {
    const { signal } = this.stopping;
    let failuresInRow = 0;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const begun = performance.now();
      const serves = (): void => {
        if (!isFirst)
          this.log.log(`API worker ${place.number} serves${failuresInRow > 1 ? ' again' : ''} (process ${place.pid})`);
        served();
        for (const socket of this.waiting.splice(0)) this.give(socket);
      };
      const end = await place.fill(given, { serves, tells: (word) => this.spread(word, place) });
      // A worker that was to have them has never read of them.
      for (const socket of place.leftOver()) this.give(socket);
      this.keepCounted(place.counted());
      if (end.id !== undefined) void this.forget(end.id).catch((cause: unknown) => this.log.debug(String(cause)));
      if (signal.aborted) return failed(new Error('Stopped'));
      if (isFirst && end.id === undefined) return failed(end.cause);
      this.ended++;
      failuresInRow = performance.now() - begun >= longEnoughMillis ? 1 : failuresInRow + 1;
      const who = `API worker ${place.number} (process ${end.pid})`;
      if (failuresInRow === 1) this.log.error(`${who} has ended (${end.cause.message}); another one takes its place`);
      if (failuresInRow === 2)
        tellFailure(
          this.log,
          `${who} ends again and again; tried after ${firstPauseMillis} ms, then ever later, up to ${longestPauseMillis / 1_000} s`,
          end.cause,
        );
      if (failuresInRow < 2) continue;
      const pause = backOffMillis(failuresInRow - 1, firstPauseMillis, longestPauseMillis);
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  /** To all processes but the one that tells it. */
  private async spread(word: Word, from?: Place): Promise<void> {
    if (from) this.words.hear(word);
    await Promise.all(this.places.map((place) => (place === from ? undefined : place.hear(word))));
  }

  /** One after the other: several may end at once. */
  private keepCounted(figures: Figures): void {
    this.counted = this.counted.then(async (before) => {
      const registry = AggregatorRegistry.aggregate([before, figures]);
      return (await registry.getMetricsAsJSON()) as Figures;
    });
  }

  private counts(): WorkerCounts {
    const serving = this.places.filter(({ serves }) => serves).length;
    return { serving, missing: this.places.length - serving, ended: this.ended };
  }

  private async figures(): Promise<Figures[]> {
    await Promise.all(this.places.map((place) => place.askFigures()));
    // Taken at the same moment: what a worker counted that ends meanwhile is in one of the two.
    const present = this.places.map(({ figures }) => figures);
    return [await this.counted, ...present];
  }
}

/** Bounds that hold for an instance are shared among its workers; those of one caller or address hold in each. */
function shareOf(settings: Given['settings'], count: number): Given['settings'] {
  const share = (most: number): number => Math.ceil(most / count);
  const { http, events } = settings;
  return {
    ...settings,
    http: {
      ...http,
      workers: count,
      maxConcurrentCalls: share(http.maxConcurrentCalls),
      placesForAdministrators: share(http.placesForAdministrators),
    },
    events: { ...events, maxStreams: share(events.maxStreams) },
  };
}
