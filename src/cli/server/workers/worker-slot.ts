import cluster, { type Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StartError } from '../../../platform/errors.js';
import type { ProcessMessage } from '../../../platform/process/process-messages.js';
import type { ProcessMetrics } from '../../../platform/process/process-role.js';
import type { LeaderRequests, WorkerOptions, WorkerRequests } from './protocol.js';
import { RequestChannel } from './request-channel.js';

export interface WorkerLimits {
  startMillis: number;
  replyMillis: number;
  heartbeatMillis: number;
  /** One that leaves so many heartbeats in a row without a reply is ended. They are counted: a leader that stood still itself has sent none. */
  missedHeartbeats: number;
}

interface RunningWorker {
  worker: Worker;
  channel: RequestChannel<WorkerRequests, LeaderRequests>;
  /** undefined: it has yet to serve. */
  instanceId?: string;
}

/**
 * One of the API workers of an instance: a process of node:cluster, and after its end the one that replaces it. `serving`: it does
 * from now on. `free`: it can be assigned a connection.
 */
export class WorkerSlot extends EventEmitter<{ serving: []; free: []; error: [Error] }> {
  /** Metrics of the present worker, as of the last time they were read. */
  metrics: ProcessMetrics = [];
  private running: RunningWorker | undefined;
  /** Sent to the worker, which has yet to take it. One at a time: a worker that is busy, or frozen, gets no more. */
  private assigned: Socket | undefined;
  private missed = 0;
  private isStopping = false;
  private reading: Promise<void> | undefined;

  /** `publish` resolves when all other processes have the message, or do not reply. */
  constructor(
    readonly number: number,
    private readonly limits: WorkerLimits,
    private readonly publish: (message: ProcessMessage) => Promise<void>,
  ) {
    super();
  }

  get pid(): number | undefined {
    return this.running?.worker.process.pid;
  }

  get isServing(): boolean {
    return this.running?.instanceId !== undefined && this.running.worker.isConnected();
  }

  get isFree(): boolean {
    return this.isServing && this.assigned === undefined;
  }

  /** Starts a worker, and resolves when it has ended. `instanceId`: it did serve. */
  async run(options: WorkerOptions): Promise<{ pid?: number; instanceId?: string; cause: Error }> {
    const worker = cluster.fork();
    const { pid } = worker.process;
    let failure: Error | undefined;
    const late = setTimeout(() => this.kill(), this.limits.startMillis);
    const channel = new RequestChannel<WorkerRequests, LeaderRequests>(worker, {
      options: () => (this.isStopping ? undefined : options),
      serving: (instanceId) => {
        clearTimeout(late);
        running.instanceId = instanceId;
        this.emit('serving');
        this.emit('free');
      },
      failed: (reason) => void (failure = new StartError(reason)),
      takeConnection: () => {
        // Closes it in this process alone.
        this.assigned?.destroy();
        this.assigned = undefined;
        this.emit('free');
      },
      publish: this.publish,
    });
    const running: RunningWorker = { worker, channel };
    this.running = running;
    this.missed = 0;
    const ended = await new Promise<Error>((resolve) => {
      worker.once('exit', (code, signal) => resolve(new Error(signal ?? `exit code ${code}`)));
      // Without a process there is no exit; with one, a message that did not reach it is no end.
      worker.on('error', (cause) => pid === undefined && resolve(cause));
    });
    // What the worker had sent by its end is read within a turn of the event loop: it may have taken its connection.
    await nextTurn();
    await nextTurn();
    clearTimeout(late);
    channel.close();
    this.running = undefined;
    return { pid, instanceId: running.instanceId, cause: failure ?? ended };
  }

  /** The socket stays open in this process until the worker takes it: should the worker end before, another one gets it. */
  assign(socket: Socket): void {
    this.assigned = socket;
    void this.running?.channel.notify('connection', undefined, socket);
  }

  /** The connection that a worker which has ended did not take, and so has read nothing of. */
  unassign(): Socket | undefined {
    const left = this.assigned;
    this.assigned = undefined;
    return left;
  }

  /** Reaches a worker that has yet to start, too. */
  stop(): void {
    this.isStopping = true;
    void this.running?.channel.notify('stop', undefined);
  }

  kill(): void {
    this.running?.worker.process.kill('SIGKILL');
  }

  /**
   * Sends a heartbeat; called at regular intervals. Returns true if the worker has been silent for too long, and is
   * ended.
   */
  sendHeartbeat(): boolean {
    if (!this.running || !this.isServing) return false;
    if (this.missed >= this.limits.missedHeartbeats) {
      this.kill();
      return true;
    }
    this.missed++;
    void this.running.channel.request('heartbeat', undefined).then(() => (this.missed = 0));
    return false;
  }

  /** Reads the metrics of the worker. Those of one that is too busy to reply in time stay as they were. */
  readMetrics(): Promise<void> {
    this.reading ??= this.askForMetrics().finally(() => (this.reading = undefined));
    return this.reading;
  }

  async deliver(message: ProcessMessage): Promise<void> {
    if (this.isServing) await this.running?.channel.request('deliver', message, this.limits.replyMillis);
  }

  /** The counters of a worker that has ended. */
  takeCounters(): ProcessMetrics {
    const counters = this.metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    this.metrics = [];
    return counters;
  }

  private async askForMetrics(): Promise<void> {
    const { running } = this;
    if (!running || !this.isServing) return;
    const metrics = await running.channel.request('metrics', undefined, this.limits.replyMillis);
    // Those of one that has ended meanwhile are among the counters already.
    if (metrics && running === this.running) this.metrics = metrics;
  }
}
