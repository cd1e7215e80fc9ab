import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { AggregatorRegistry } from 'prom-client';
import { backOffMillis } from '../../../core/back-off.js';
import { type ProcessMessage, ProcessMessages } from '../../../platform/process/process-messages.js';
import type {
  ApiWorkers,
  LeaderEndpoint,
  ProcessMetrics,
  ProcessRole,
  WorkerCounts,
} from '../../../platform/process/process-role.js';
import { tellFailure } from '../../../platform/tell-failure.js';
import type { WorkerOptions } from './protocol.js';
import { type Room, poolOf, workerCount } from './worker-count.js';
import { type WorkerLimits, WorkerSlot } from './worker-slot.js';

export interface PoolLimits extends WorkerLimits {
  /** A worker that served for so long did not fail because of how it starts. */
  steadyMillis: number;
  firstPauseMillis: number;
  longestPauseMillis: number;
  /** Longer than calls in flight are given to end. */
  stopMillis: number;
  /** Connections that wait for a worker: while none serves, and while those that serve are busy. */
  maxWaiting: { unserved: number; served: number };
}

const defaultLimits: PoolLimits = {
  startMillis: 60_000,
  replyMillis: 1_000,
  heartbeatMillis: 5_000,
  missedHeartbeats: 6,
  steadyMillis: 10_000,
  firstPauseMillis: 500,
  longestPauseMillis: 30_000,
  stopMillis: 20_000,
  maxWaiting: { unserved: 1_000, served: 10_000 },
};

/** For tests: other limits, and another program than that of the product. */
interface PoolOptions {
  limits?: Partial<PoolLimits>;
  program?: { exec: string; args: string[] };
}

type SharedOptions = Pick<WorkerOptions, 'settings' | 'agentFolder'>;

/**
 * The API workers of `muster start`: processes of node:cluster, each replaced when it ends. They share the port of the API, on which
 * this process accepts connections and assigns them, unread, in turn.
 *
 * node:cluster would accept them as well, in the same turn, but forgets the connection that is on its way to a worker which ends:
 * its caller then waits without end, and its file stays open here, at each kill of a worker under load. It also closes the port while
 * no worker lives. So the workers do not listen; they are sent sockets, by the same documented channel.
 */
export class WorkerPool implements ApiWorkers {
  readonly role: ProcessRole;
  port: number | undefined;
  private readonly log = new Logger('Workers');
  private readonly slots: WorkerSlot[];
  private readonly messages = new ProcessMessages((message) => this.broadcast(message));
  private readonly stopping = new AbortController();
  private readonly listener = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => this.accept(socket));
  private readonly waiting: Socket[] = [];
  private readonly limits: PoolLimits;
  private lastSlot = -1;
  private heartbeats: NodeJS.Timeout | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private onEnded: (instanceId: string) => Promise<unknown> = () => Promise.resolve();
  private ended = 0;
  /** Counters of workers that have ended. Without them a counter would go back when a worker is replaced. */
  private endedCounters: Promise<ProcessMetrics> = Promise.resolve([]);

  /** undefined: this process serves the API itself. */
  static of(settings: WorkerOptions['settings'], agentFolder: string, room: Room): WorkerPool | undefined {
    const count = workerCount(settings.http.workers, room);
    return count === 0 ? undefined : new WorkerPool(count, { settings, agentFolder });
  }

  constructor(
    count: number,
    private readonly shared: SharedOptions,
    { limits, program }: PoolOptions = {},
  ) {
    this.limits = { ...defaultLimits, ...limits };
    this.slots = Array.from({ length: count }, (_, index) => {
      const slot: WorkerSlot = new WorkerSlot(index + 1, this.limits, (message) => this.broadcast(message, slot));
      return slot.on('free', () => this.assign());
    });
    const exec = fileURLToPath(new URL('worker.js', import.meta.url));
    const args = [new URL('api-server.js', import.meta.url).href];
    const endpointKey = randomBytes(24).toString('base64url');
    this.role = { kind: 'leader', endpointKey, workers: this, messages: this.messages };
    // Limits without end are numbers in metrics and settings, for which JSON has none.
    cluster.setupPrimary({ exec, args, serialization: 'advanced', ...program });
  }

  /** Process ids of the workers. */
  get pids(): number[] {
    return this.slots.flatMap(({ pid }) => pid ?? []);
  }

  /** `listener` is called with the id of the instance that each ended worker was. */
  onEnd(listener: (instanceId: string) => Promise<unknown>): void {
    this.onEnded = listener;
  }

  async start(leaderInstanceId: string, leaderEndpoint: LeaderEndpoint): Promise<{ serving: Promise<unknown> }> {
    const { settings, agentFolder } = this.shared;
    this.listener.listen(settings.port, settings.host);
    await once(this.listener, 'listening');
    this.listener.on('error', (cause) => tellFailure(this.log, 'A connection could not be accepted', cause));
    this.port = (this.listener.address() as AddressInfo).port;
    const { length } = this.slots;
    const options = {
      settings: shareOf(settings, length),
      agentFolder,
      leaderInstanceId,
      leaderEndpoint,
      port: this.port,
      databaseConnections: poolOf(length),
    };
    const serving = Promise.all(this.slots.map((slot) => once(slot, 'serving')));
    this.running = Promise.all(this.slots.map((slot) => this.keepRunning(slot, { ...options, number: slot.number })));
    this.heartbeats = setInterval(() => this.sendHeartbeats(), this.limits.heartbeatMillis);
    return { serving };
  }

  counts(): WorkerCounts {
    const serving = this.slots.filter(({ isServing }) => isServing).length;
    return { serving, missing: this.slots.length - serving, ended: this.ended };
  }

  async metrics(): Promise<ProcessMetrics[]> {
    await Promise.all(this.slots.map((slot) => slot.readMetrics()));
    // Read in one step: what a worker counted that ends meanwhile is in one of the two.
    const present = this.slots.map(({ metrics }) => metrics);
    return [await this.endedCounters, ...present];
  }

  /** Lets the workers answer the calls they have; those that do not end in time are ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearInterval(this.heartbeats);
    for (const slot of this.slots) slot.stop();
    const late = setTimeout(() => {
      for (const slot of this.slots) slot.kill();
    }, this.limits.stopMillis);
    await this.running;
    clearTimeout(late);
    this.listener.close();
    for (const socket of this.waiting.splice(0)) socket.destroy();
  }

  private accept(socket: Socket): void {
    // It may break off before a worker has it.
    socket.on('error', () => undefined);
    const { unserved, served } = this.limits.maxWaiting;
    const unservedNow = this.stopping.signal.aborted ? 0 : unserved;
    const room = this.slots.some(({ isServing }) => isServing) ? served : unservedNow;
    if (this.waiting.length >= room) return void socket.destroy();
    this.waiting.push(socket);
    this.assign();
  }

  /** Assigns connections to the free workers in turn, one to each. */
  private assign(): void {
    while (this.waiting.length > 0) {
      const free = this.slots.findIndex(({ isFree }) => isFree);
      if (free < 0) return;
      const next = this.slots.findIndex(({ isFree }, index) => isFree && index > this.lastSlot);
      this.lastSlot = next < 0 ? free : next;
      const socket = this.waiting.shift()!;
      if (!socket.destroyed) this.slots[this.lastSlot]!.assign(socket);
    }
  }

  private sendHeartbeats(): void {
    for (const slot of this.slots) {
      if (slot.sendHeartbeat())
        this.log.error(`API worker ${slot.number} (process ${slot.pid}) does not answer; restarting it`);
    }
  }

  /** Resolves when the instance stops, or the first worker of the slot cannot start: that fails the start of the instance. */
  private async keepRunning(slot: WorkerSlot, options: WorkerOptions): Promise<void> {
    const { signal } = this.stopping;
    let isFirst = true;
    let failuresInRow = 0;
    slot.on('serving', () => {
      const again = failuresInRow > 1 ? ' again' : '';
      if (!isFirst) this.log.log(`API worker ${slot.number} serves${again} (process ${slot.pid})`);
    });
    for (; !signal.aborted; isFirst = false) {
      const began = performance.now();
      const { pid, instanceId, cause } = await slot.run(options);
      this.cleanUpAfter(slot, instanceId);
      if (isFirst && instanceId === undefined)
        return void slot.emit('error', signal.aborted ? new Error('Stopped') : cause);
      if (signal.aborted) return;
      this.ended++;
      failuresInRow = performance.now() - began >= this.limits.steadyMillis ? 1 : failuresInRow + 1;
      await this.pauseAfter(`API worker ${slot.number} (process ${pid})`, cause, failuresInRow);
    }
  }

  private cleanUpAfter(slot: WorkerSlot, instanceId: string | undefined): void {
    const left = slot.unassign();
    if (left) this.waiting.unshift(left);
    this.assign();
    this.addEndedCounters(slot.takeCounters());
    if (instanceId !== undefined)
      void this.onEnded(instanceId).catch((cause: unknown) => this.log.debug(String(cause)));
  }

  private async pauseAfter(who: string, cause: Error, failuresInRow: number): Promise<void> {
    const { firstPauseMillis, longestPauseMillis } = this.limits;
    if (failuresInRow === 1) return this.log.error(`${who} has ended (${cause.message}); restarting it`);
    if (failuresInRow === 2)
      tellFailure(
        this.log,
        `${who} keeps ending; retrying after ${firstPauseMillis} ms, then at growing intervals, up to ${longestPauseMillis / 1_000} s`,
        cause,
      );
    const pause = backOffMillis(failuresInRow - 1, firstPauseMillis, longestPauseMillis);
    await delay(pause, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }

  /** Publishes a message to all processes but the one that it came from. */
  private async broadcast(message: ProcessMessage, from?: WorkerSlot): Promise<void> {
    if (from) this.messages.receive(message);
    await Promise.all(this.slots.map((slot) => (slot === from ? undefined : slot.deliver(message))));
  }

  /** One after the other: several may end at once. */
  private addEndedCounters(counters: ProcessMetrics): void {
    this.endedCounters = this.endedCounters.then(async (before) => {
      const registry = AggregatorRegistry.aggregate([before, counters]);
      return (await registry.getMetricsAsJSON()) as ProcessMetrics;
    });
  }
}

/** Limits that hold for an instance are divided among its workers; those of one caller or address hold in each. */
function shareOf(settings: SharedOptions['settings'], count: number): SharedOptions['settings'] {
  const share = (limit: number): number => Math.ceil(limit / count);
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
