import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Logger } from '@nestjs/common';
import type { Epoch } from '../../cluster/cluster-driver.js';
import { plainOptions } from '../database/connection.js';
import { monotonicMillis } from '../monotonic.js';
import { answerTimeoutMillis, leaseStatements, leaseUrl } from './lease.js';

/** Twice as often as a term could do with: a statement may take a second and a half on a busy machine. */
const renewEveryMillis = 500;
/** A failed renewal is tried again soon: there are only seconds until the lease becomes doubtful. */
const renewAgainMillis = 200;
/**
 * A main thread that stands still for longer is taken for hung. On a machine whose cores are all busy it stands still for a second
 * or two; what takes longer has every wait of an API call run out anyway.
 */
const standstillMillis = 10_000;

const startMillis = 30_000;

const program = new URL('./lease-thread.mjs', import.meta.url);

/** A leader that could not renew its lease for this long stops: half a second later another may take it. */
const trustMillis = 2_000;

/** In the place of the time of the last renewal. The thread writes them, except for -2. */
const lostBecause = new Map([
  [0n, 'another instance holds the lease'],
  [-1n, 'the main thread stood still for too long'],
  [-2n, 'the thread that renews the lease is gone'],
  [-3n, 'the lease could not be renewed in time'],
]);
const threadIsGone = -2n;

/** `failed`: a renewal, which is tried again. */
type Message = { kind: 'ready' } | { kind: 'lost'; epoch: Epoch } | { kind: 'failed'; epoch: Epoch; text: string };

/** The lease of one term. */
export interface KeptLease {
  /** The reason why it is lost or in doubt, from that very moment on. */
  problem(): string | undefined;
  /** Called again and again, for as long as the main thread lives. */
  alive(): void;
  release(): void;
}

/**
 * Renews the lease in a thread that does nothing else, with a connection of its own: a term is not to end because scheduling, or
 * the other processes of the machine, keep the main thread busy. It lets the lease go when the main thread stands still.
 */
export class LeaseThread {
  private readonly log = new Logger('Leadership');
  private worker: Worker | undefined;
  private beginning: Promise<unknown> | undefined;
  private term: { epoch: Epoch; cells: BigInt64Array; lost: () => void } | undefined;

  constructor(
    private readonly url: string,
    private readonly holder: string,
    private readonly standstill = standstillMillis,
    private readonly longestStart = startMillis,
  ) {}

  /** Starts it, unless it runs. It is awaited before the lease is taken: a thread may take longer to start than a lease lasts. */
  async started(): Promise<void> {
    this.beginning ??= this.begin();
    await this.beginning;
  }

  /** Keeps the lease that was renewed by a statement sent at that monotonic time. */
  keep(epoch: Epoch, sentAt: number, lost: () => void): KeptLease {
    const cells = new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT));
    const alive = () => void Atomics.store(cells, 1, process.hrtime.bigint());
    Atomics.store(cells, 0, BigInt(Math.floor(sentAt * 1e6)));
    alive();
    this.term = { epoch, cells, lost };
    if (this.worker) this.worker.postMessage({ keep: { epoch, cells } });
    else Atomics.store(cells, 0, threadIsGone);
    return {
      problem: () => problemOf(Atomics.load(cells, 0)),
      alive,
      release: () => {
        if (this.term?.epoch === epoch) this.term = undefined;
        this.worker?.postMessage({ release: epoch });
      },
    };
  }

  async stop(): Promise<void> {
    await this.beginning?.catch(() => undefined);
    const { worker } = this;
    this.worker = undefined;
    await worker?.terminate();
  }

  private async begin(): Promise<void> {
    const worker = new Worker(program, {
      workerData: {
        connection: plainOptions(leaseUrl(this.url), 'lease renewal', answerTimeoutMillis),
        holder: this.holder,
        statements: leaseStatements,
        renewEveryMillis,
        renewAgainMillis,
        standstillMillis: this.standstill,
        trustMillis,
      },
      // What this process was told to load first, such as a compiler, is not for the thread.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 64 },
    });
    worker.unref();
    worker.on('error', (cause) => this.ended(worker, String(cause)));
    worker.on('exit', () => this.ended(worker, 'it ended'));
    this.worker = worker;
    try {
      await once(worker, 'message', { signal: AbortSignal.timeout(this.longestStart) });
    } catch (cause) {
      // The next one may be quicker.
      this.ended(worker, String(cause));
      await worker.terminate();
      throw cause;
    }
    worker.on('message', (message: Message) => this.heard(message));
  }

  private heard(message: Message): void {
    if (message.kind === 'ready' || message.epoch !== this.term?.epoch) return;
    if (message.kind === 'lost') this.term.lost();
    else this.log.warn(`Could not renew the lease: ${message.text}`);
  }

  /** The next term begins with another one. */
  private ended(worker: Worker, cause: string): void {
    if (this.worker !== worker) return;
    this.log.error(`The thread that renews the lease has ended: ${cause}`);
    this.worker = undefined;
    this.beginning = undefined;
    if (!this.term) return;
    Atomics.store(this.term.cells, 0, threadIsGone);
    this.term.lost();
  }
}

function problemOf(renewedAt: bigint): string | undefined {
  if (renewedAt <= 0n) return lostBecause.get(renewedAt);
  const isDoubtful = monotonicMillis() - Number(renewedAt) / 1e6 >= trustMillis;
  return isDoubtful ? lostBecause.get(-3n) : undefined;
}
