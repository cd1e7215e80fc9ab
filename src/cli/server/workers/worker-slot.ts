import cluster, { type Worker } from 'node:cluster';
import type { Socket } from 'node:net';
import { StartError } from '../../../platform/errors.js';
import type { ProcessMessage } from '../../../platform/process/process-messages.js';
import type { ProcessMetrics } from '../../../platform/process/process-role.js';
import type { LeaderRequests, WorkerFailure, WorkerOptions, WorkerRequests } from './protocol.js';
import { type Envelope, RequestChannel } from './request-channel.js';

export interface WorkerTimes {
  startMillis: number;
  replyMillis: number;
  heartbeatMillis: number;
  /** One that leaves so many heartbeats in a row without a reply is ended. They are counted: a leader that stood still itself has sent none. */
  missedHeartbeats: number;
}

interface SlotListener {
  serving(): void;
  /** The worker has taken its connection, and can be assigned the next. */
  free(): void;
  /** Resolves when all other processes have the message, or do not reply. */
  publish(message: ProcessMessage): Promise<void>;
}

interface WorkerEnd {
  pid: number | undefined;
  cause: Error;
  /** Of its instance; undefined: it never served. */
  instanceId: string | undefined;
}

interface PresentWorker {
  worker: Worker;
  channel: RequestChannel<WorkerRequests, LeaderRequests>;
  /** undefined: it has yet to serve. */
  instanceId?: string;
}

/** One of the API workers of an instance: a process of node:cluster, and after its end the one that replaces it. */
export class WorkerSlot {
  /** Those of the present worker, as of the last time they were read. */
  metrics: ProcessMetrics = [];
  private present: PresentWorker | undefined;
  /** Sent to the worker, which has yet to take it. One at a time: a worker that is busy, or frozen, gets no more. */
  private assigned: Socket | undefined;
  private missed = 0;
  private isStopping = false;
  private reading: Promise<void> | undefined;

  constructor(
    readonly number: number,
    private readonly times: WorkerTimes,
  ) {}

  get pid(): number | undefined {
    return this.present?.worker.process.pid;
  }

  get isServing(): boolean {
    return this.present?.instanceId !== undefined && this.present.worker.isConnected();
  }

  get isFree(): boolean {
    return this.isServing && this.assigned === undefined;
  }

  /** Starts a worker, and resolves when it has ended. */
  async run(options: WorkerOptions, listener: SlotListener): Promise<WorkerEnd> {
    const worker = cluster.fork();
    const { pid } = worker.process;
    let failure: Error | undefined;
    const late = setTimeout(() => this.kill(), this.times.startMillis);
    const send = (message: Envelope, socket?: Socket): void => {
      if (worker.isConnected()) worker.send(message, socket, { keepOpen: true }, () => undefined);
    };
    const channel = new RequestChannel<WorkerRequests, LeaderRequests>(send, {
      options: () => (this.isStopping ? undefined : options),
      serving: (instanceId) => {
        clearTimeout(late);
        present.instanceId = instanceId;
        listener.serving();
      },
      failed: (told) => void (failure = errorOf(told)),
      takeConnection: () => {
        // Closes it in this process alone.
        this.assigned?.destroy();
        this.assigned = undefined;
        // After the reply, which would wait until the worker has the next one.
        setImmediate(() => listener.free());
      },
      publish: (message) => listener.publish(message),
    });
    const present: PresentWorker = { worker, channel };
    this.present = present;
    this.missed = 0;
    worker.on('message', (message: Envelope, socket?: Socket) => void channel.receive(message, socket));
    const ended = await new Promise<Error>((resolve) => {
      worker.once('exit', (code, signal) => resolve(new Error(signal ?? `exit code ${code}`)));
      // Without a process there is no exit; with one, a message that did not reach it is no end.
      worker.on('error', (cause) => pid === undefined && resolve(cause));
    });
    clearTimeout(late);
    channel.close();
    this.present = undefined;
    return { pid, instanceId: present.instanceId, cause: failure ?? ended };
  }

  /** The socket stays open in this process until the worker takes it: should the worker end before, another one gets it. */
  assign(socket: Socket): void {
    this.assigned = socket;
    this.present?.channel.notify('connection', undefined, socket);
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
    this.present?.channel.notify('stop', undefined);
  }

  kill(): void {
    this.present?.worker.process.kill('SIGKILL');
  }

  /** To be called at regular intervals. Answers whether the worker has been silent for too long, and is ended. */
  sendHeartbeat(): boolean {
    if (!this.isServing) return false;
    if (this.missed >= this.times.missedHeartbeats) {
      this.kill();
      return true;
    }
    this.missed++;
    void this.present!.channel.request('heartbeat', undefined).then(() => (this.missed = 0));
    return false;
  }

  /** Of a worker that is too busy to reply in time, the metrics stay as they were. */
  readMetrics(): Promise<void> {
    this.reading ??= this.askForMetrics().finally(() => (this.reading = undefined));
    return this.reading;
  }

  async deliver(message: ProcessMessage): Promise<void> {
    if (this.isServing) await this.present!.channel.request('deliver', message, this.times.replyMillis);
  }

  /** The counters of a worker that has ended. */
  takeCounters(): ProcessMetrics {
    const counters = this.metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    this.metrics = [];
    return counters;
  }

  private async askForMetrics(): Promise<void> {
    if (!this.isServing) return;
    const { present } = this;
    const metrics = await present!.channel.request('metrics', undefined, this.times.replyMillis);
    // Those of one that has ended meanwhile are among the counters already.
    if (metrics && present === this.present) this.metrics = metrics;
  }
}

const errorOf = ({ isStartError, message, ...rest }: WorkerFailure): Error =>
  Object.assign(isStartError ? new StartError(message) : new Error(message), rest);
