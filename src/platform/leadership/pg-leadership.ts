import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { type Epoch, StaleEpochError } from '../../cluster/cluster-driver.js';
import { backOffMillis } from '../../core/back-off.js';
import type { DatabaseClock } from '../database/database-clock.js';
import { monotonicMillis } from '../monotonic.js';
import { Wake, wakeTopics } from '../wake/wake.js';
import { type LeaderDuty, Leadership, NotLeaderError, type Standing } from './leadership.js';
import { Lease } from './lease.js';
import { LeaseThread } from './lease-thread.js';
import { Orders, Term } from './term.js';
import { tellFailure } from '../tell-failure.js';

/** Interval at which a leader looks at the schema and at the time of the database. */
const lookEveryMillis = 1_000;
const competeEveryMillis = 500;
const watchEveryMillis = 100;
const firstPauseMillis = 1_000;
const longestPauseMillis = 30_000;
/** Longest wait for one duty at the end of a term. A duty that hangs must not keep this instance from competing. */
const dutyEndMillis = 15_000;
/**
 * Time for which a leader that was told to fail over stands aside for another one, and for which one that is told to
 * lead tries to.
 */
const standAsideMillis = 15_000;

interface PgLeadershipOptions {
  url: string;
  /** Names this process among all instances and is never used again. */
  holder: string;
  /** Address of the holder of a running lease. */
  readAddress: () => Promise<string | undefined>;
  monotonic?: () => number;
  clock?: DatabaseClock;
  /** True if it may lead, which is the default. */
  competes?: boolean;
  /** Longest standstill of its main thread before it lets the lease go. */
  standstillMillis?: number;
}

/**
 * Leadership by a lease and an epoch in PostgreSQL. Never stops competing: a lost database, a failed duty or a stronger
 * instance end a term, never the process.
 */
export class PgLeadership extends Leadership {
  private readonly log = new Logger('Leadership');
  private readonly duties: LeaderDuty[] = [];
  private readonly lease: Lease;
  private readonly thread: LeaseThread;
  private readonly monotonic: () => number;
  private readonly stopping = new AbortController();
  private readonly orders = new Orders();
  private readonly neverLeads: boolean;
  private readonly listeners: (() => void)[] = [];
  private term: Term | undefined;
  private competing: Promise<void> | undefined;
  private cutPause = new AbortController();
  private failuresInRow = 0;
  private databaseAway = false;
  private newerSchema: string | undefined;
  private yields = (): boolean => false;
  /** The highest epoch that a machine said it has seen. */
  private highestSeen = 0;
  /** Monotonic time at which the last term ended. */
  private ledUntil: number | undefined;

  constructor(
    private readonly options: PgLeadershipOptions,
    private readonly wake: Wake,
  ) {
    super();
    this.monotonic = options.monotonic ?? monotonicMillis;
    this.lease = new Lease(options.url, options.holder, this.monotonic, options.clock);
    this.thread = new LeaseThread(options.url, options.holder, options.standstillMillis);
    this.neverLeads = options.competes === false;
    this.wake.on('leadership', () => this.cutPause.abort());
  }

  current(): Epoch | undefined {
    return this.term?.holds() ? this.term.epoch : undefined;
  }

  ready(): boolean {
    return this.term !== undefined && this.term.ready && this.term.holds();
  }

  register(duty: LeaderDuty): void {
    this.duties.push(duty);
  }

  stepDown(reason: string): void {
    this.term?.finish(reason);
  }

  outranked(cause: StaleEpochError): void {
    this.outrank(cause);
    this.stepDown(cause.message);
  }

  failOver(reason: string): void {
    if (!this.term) return;
    this.orders.standAside = true;
    this.stepDown(reason);
  }

  async takeOver(): Promise<void> {
    if (this.neverLeads) throw new NotLeaderError('it never leads (leadership.competes)');
    this.orders.takeOver();
    this.changed();
    this.cutPause.abort();
    const deadline = this.monotonic() + standAsideMillis;
    try {
      while (!this.ready()) {
        if (this.stopping.signal.aborted || this.newerSchema !== undefined || this.monotonic() > deadline) {
          throw new NotLeaderError('it could not take over');
        }
        await delay(watchEveryMillis);
      }
    } finally {
      this.orders.byForce = false;
    }
  }

  suspend(reason: string): void {
    this.orders.suspended = true;
    this.stepDown(reason);
    this.changed();
  }

  resume(): void {
    this.orders.suspended = false;
    this.changed();
    this.cutPause.abort();
  }

  yieldWhile(another: () => boolean): void {
    this.yields = another;
  }

  standing(): Standing {
    // Between the end of a term and the moment in which it is noticed, it has just ended.
    const ledUntil = this.ledUntil ?? (this.term && this.monotonic());
    const leads = this.current() !== undefined;
    return {
      suspended: this.orders.suspended,
      millisSinceLed: leads || ledUntil === undefined ? undefined : this.monotonic() - ledUntil,
      newerSchema: this.newerSchema,
    };
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  leaderAddress(): Promise<string | undefined> {
    return this.options.readAddress();
  }

  start(address: string): void {
    this.competing ??= this.compete(address);
    this.changed();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.cutPause.abort();
    this.stepDown('this instance stops');
    await this.competing;
    await this.thread.stop();
    this.lease.close();
  }

  private async compete(address: string): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const term = await this.take(address);
      if (term) await this.lead(term);
      else await this.pause(Math.min(competeEveryMillis, this.lease.freeIn() || competeEveryMillis));
    }
  }

  private async take(address: string): Promise<Term | undefined> {
    try {
      this.found(await this.lease.look());
      if (this.neverLeads || this.orders.suspended || this.newerSchema !== undefined) return undefined;
      if (this.yields() && !this.orders.byForce) return undefined;
      await this.thread.started();
      const epoch = await this.lease.take(address, { byForce: this.orders.byForce, above: this.highestSeen });
      if (this.databaseAway) this.log.log('The database answers again');
      this.databaseAway = false;
      if (epoch === undefined) return undefined;
      this.orders.byForce = false;
      // The takeover may have waited long for the former leader, so how old the lease is by now is not known.
      const sentAt = monotonicMillis();
      if (!(await this.lease.renew(epoch))) return undefined;
      return new Term(epoch, (lost) => this.thread.keep(epoch, sentAt, lost));
    } catch (cause) {
      if (!this.databaseAway) this.log.warn(`Cannot compete for the leadership; retrying: ${String(cause)}`);
      this.databaseAway = true;
      return undefined;
    }
  }

  private async lead(term: Term): Promise<void> {
    this.term = term;
    this.ledUntil = undefined;
    // The order to stop may have come while the takeover was under way.
    if (this.stopping.signal.aborted) term.finish('this instance stops');
    if (this.orders.suspended) term.finish('it was told to stop');
    this.log.log(`Leads in epoch ${term.epoch}`);
    const watching = this.watch(term);
    const begun: LeaderDuty[] = [];
    const begin = this.begin(term, begun);
    await term.ended;
    // It may wait for an answer that never comes.
    this.lease.close();
    this.ledUntil = this.monotonic();
    this.changed();
    const level = this.stopping.signal.aborted ? 'log' : 'warn';
    this.log[level](`No longer leads (epoch ${term.epoch}): ${term.endedBecause()}`);
    for (const duty of begun.toReversed()) await this.endDuty(duty);
    await Promise.race([Promise.all([begin, watching]), delay(dutyEndMillis, undefined, { ref: false })]);
    this.term = undefined;
    await this.giveBack(term.epoch);
    if (this.orders.standAside) await this.waitForSuccessor(term.epoch);
    if (this.failuresInRow > 0)
      await this.pause(backOffMillis(this.failuresInRow, firstPauseMillis, longestPauseMillis));
  }

  private async begin(term: Term, begun: LeaderDuty[]): Promise<void> {
    for (const duty of this.duties) {
      if (!term.holds()) return;
      begun.push(duty);
      try {
        await duty.gained(term.epoch);
      } catch (cause) {
        if (cause instanceof StaleEpochError) this.outrank(cause);
        if (term.holds()) this.failuresInRow += 1;
        term.finish(`'${duty.name}' could not begin: ${String(cause)}`);
        return;
      }
    }
    if (!term.holds()) return;
    term.ready = true;
    this.failuresInRow = 0;
    for (const topic of wakeTopics) this.wake.signalHere(topic);
    this.changed();
  }

  private async endDuty(duty: LeaderDuty): Promise<void> {
    try {
      const late = delay(dutyEndMillis, 'late' as const, { ref: false });
      if ((await Promise.race([duty.lost(), late])) === 'late') this.log.error(`'${duty.name}' does not end`);
    } catch (cause) {
      tellFailure(this.log, `'${duty.name}' ended with an error`, cause);
    }
  }

  /** Until the term ends: ends it as soon as the lease is lost or in doubt, and looks at the schema and the time. */
  private async watch(term: Term): Promise<void> {
    const watching = setInterval(() => term.look(), watchEveryMillis);
    while (term.holds()) {
      try {
        this.found(await this.lease.look());
      } catch (cause) {
        if (term.holds()) this.log.warn(`Could not check the schema and the clock: ${String(cause)}`);
      }
      await Promise.race([term.ended, delay(lookEveryMillis, undefined, { ref: false })]);
    }
    clearInterval(watching);
  }

  /** Looked at as often as the lease: an older program would misread what a newer one writes, and write what it does not expect. */
  private found(newerSchema: string | undefined): void {
    if (newerSchema === this.newerSchema) return;
    this.newerSchema = newerSchema;
    if (newerSchema !== undefined) this.stepDown(`a newer Muster migrated the database, up to ${newerSchema}`);
    this.log.warn(newerSchema ? `Serves and leads no more: ${newerSchema} is of a newer Muster` : 'Serves again');
  }

  private async giveBack(epoch: Epoch): Promise<void> {
    try {
      await this.lease.giveBack(epoch);
      this.wake.signal('leadership');
    } catch (cause) {
      this.log.debug(`The lease of epoch ${epoch} was not released and expires: ${String(cause)}`);
    }
  }

  /** Until another instance has led, or it is clear that none wants to. */
  private async waitForSuccessor(epoch: Epoch): Promise<void> {
    const deadline = this.monotonic() + standAsideMillis;
    while (this.orders.standAside && this.monotonic() < deadline && !this.stopping.signal.aborted) {
      // It may have handed over again already: two that wait for each other would be none.
      if (await this.lease.wasTakenAfter(epoch).catch(() => false)) break;
      await delay(watchEveryMillis);
    }
    this.orders.standAside = false;
  }

  private outrank({ highest }: StaleEpochError): void {
    this.highestSeen = Math.max(this.highestSeen, highest);
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }

  /** Ends early when the lease was given back. */
  private async pause(millis: number): Promise<void> {
    this.cutPause = new AbortController();
    if (this.stopping.signal.aborted) return;
    await delay(millis, undefined, { signal: this.cutPause.signal }).catch(() => undefined);
  }
}
