import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  afterProblem,
  isSystemMail,
  limitRate,
  recipientsOf,
  type MailProblem,
  type MailRetryRules,
  type RateLimitState,
  type Recipients,
} from '../../core/mail/index.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { hasPassed } from '../../core/elapsed.js';
import { retryDelay } from '../../core/webhooks/delivery.js';
import { Clock } from '../../platform/clock.js';
import { isPassing } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import { GatheredWarning } from '../../platform/gathered-warning.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import type { Poller } from '../../platform/poller/poller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { MailBlacklistRepository } from '../users/mail-blacklist.repository.js';
import { MailFigures } from './mail-figures.service.js';
import { MailQueueRepository, type MailRate, type QueuedMail } from './mail-queue.repository.js';
import { MailSender, type SendResult } from './mail-sender.service.js';
import { MailWriter } from './mail-writer.service.js';

const hourMillis = 3_600_000;
const cleanEveryMillis = 60_000;
/** Decided in one transaction. */
const batchSize = 200;

type Smtp = NonNullable<Settings['smtp']>;

/**
 * Sends what waits in the outbox, at least once. A pass decides which of the new mails are sent, then starts workers for what is
 * due and does not wait for them. While the server fails, one mail at a time finds out whether it is back; the others wait.
 */
@Injectable()
export class MailDelivery {
  private readonly log = new Logger(MailDelivery.name);
  private readonly smtp: Smtp | undefined;
  private readonly rules: MailRetryRules | undefined;
  private readonly waiting = new GatheredWarning((line) => this.log.warn(line));
  private poller: Poller | undefined;
  /** Mails under way, by id. Only in memory: after a crash the row still stands and is sent again. */
  private readonly workers = new Map<string, Promise<void>>();
  private stopping = new AbortController();
  /** Failures of the server in a row, and how long it is left alone since the last one. */
  private server = { failures: 0, since: 0, waitMillis: 0 };
  private cleanedAt = 0;

  constructor(
    private readonly db: Database,
    private readonly queue: MailQueueRepository,
    private readonly blacklist: MailBlacklistRepository,
    private readonly writer: MailWriter,
    private readonly sender: MailSender,
    private readonly actions: DisabledActions,
    private readonly figures: MailFigures,
    private readonly clock: Clock,
    leadership: Leadership,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.smtp = settings.smtp;
    if (!this.smtp) {
      this.log.log('No mails are sent: smtp is not set');
      return;
    }
    const { firstRetryMillis, lastRetryMillis, giveUpAfterHours } = this.smtp;
    this.rules = {
      firstRetryMillis,
      maxRetryMillis: lastRetryMillis,
      giveUpAfterMillis: giveUpAfterHours * hourMillis,
    };
    this.poller = pollers.register({
      name: 'mails',
      everyMs: settings.checkQueuedMailsEveryMillis,
      wakeOn: ['mails'],
      pass: (now) => this.runOnce(now),
    });
    leadership.register({
      name: 'mails',
      gained: async () => void (this.stopping = new AbortController()),
      lost: () => this.stop(),
    });
  }

  /** One pass. Resolves when workers run for all that is due, as far as there is room; answers when the next is. */
  async runOnce(now: number): Promise<number | undefined> {
    if (!this.smtp) return undefined;
    await this.clean(now, this.smtp);
    while ((await this.decide(now, this.smtp)) === batchSize);
    const room = this.room(now, this.smtp);
    if (room > 0) {
      const underWay = [...this.workers.keys()];
      for (const mail of await this.queue.due(this.db.leaderPool, new Date(now), underWay, room)) this.start(mail);
    }
    if (this.isLeftAlone(now)) return this.server.since + this.server.waitMillis;
    return this.queue.nextDue(this.db.leaderPool, new Date(now));
  }

  /** Resolves when no mail is under way. */
  async settled(): Promise<void> {
    while (this.workers.size > 0) await Promise.all(this.workers.values());
  }

  private isLeftAlone(now: number): boolean {
    return !hasPassed(this.server.since, this.server.waitMillis, now);
  }

  private room(now: number, { mailMaxThreads }: Smtp): number {
    if (this.isLeftAlone(now)) return 0;
    return (this.server.failures > 0 ? 1 : mailMaxThreads) - this.workers.size;
  }

  /** Deletes mails that are too old to be sent, and dead ones beyond the limits. */
  private async clean(now: number, smtp: Smtp): Promise<void> {
    if (!hasPassed(this.cleanedAt, cleanEveryMillis, now)) return;
    const kept = Math.max(smtp.rateLimitPeriodMillis, smtp.rateLimitCooldownMillis);
    const givenUp = await this.db.leaderTransaction(async (tx) => {
      await this.queue.forget(tx, new Date(now - smtp.deleteGivenUpAfterHours * hourMillis), new Date(now - kept));
      const since = new Date(now - this.rules!.giveUpAfterMillis);
      return this.queue.giveUpSurplus(tx, since, smtp.maxWaitingMails, new Date(now));
    });
    this.cleanedAt = now;
    if (givenUp === 0) return;
    this.figures.failed += givenUp;
    this.log.warn(`${givenUp} mails were given up: they are too old, or too many wait`);
  }

  /**
   * Decides for the next of the new mails if they are sent. In the order in which they were queued, each once. Returns
   * their number.
   */
  private decide(now: number, smtp: Smtp): Promise<number> {
    const noteType = this.settings.taskMetadata.sendTaskCompletedMailOnceMetadataTypeIsAvailable;
    return this.db.leaderTransaction(async (tx) => {
      const mails = await this.queue.undecided(tx, new Date(now), noteType, batchSize);
      if (mails.length === 0) return 0;
      const rates = new Map((await this.queue.rates(tx, mails)).map((rate) => [rateKey(rate), rate.state]));
      const changed = new Map<string, MailRate>();
      const ids: Record<'MAIL' | 'NOTICE' | 'DROP', string[]> = { MAIL: [], NOTICE: [], DROP: [] };
      for (const { id, type, requestId, at } of mails) {
        if (requestId === undefined) {
          ids.MAIL.push(id);
          continue;
        }
        const key = rateKey({ requestId, type });
        const former: RateLimitState = rates.get(key) ?? { sentAt: [] };
        const { outcome, state } = limitRate(former, at, smtp);
        ids[outcome].push(id);
        rates.set(key, state);
        if (state !== former) changed.set(key, { requestId, type, state });
      }
      await this.queue.saveRates(tx, [...changed.values()], new Date(now));
      await this.queue.decide(tx, 'MAIL', ids.MAIL, new Date(now));
      await this.queue.decide(tx, 'NOTICE', ids.NOTICE, new Date(now));
      await this.queue.remove(tx, ids.DROP);
      return mails.length;
    });
  }

  private start(mail: QueuedMail): void {
    const work = this.deliver(mail, this.stopping.signal)
      .catch((cause: unknown) => this.broken(mail, cause))
      .finally(() => {
        this.workers.delete(mail.id);
        // There is room now, and what failed has a new time.
        this.poller?.wake();
      });
    this.workers.set(mail.id, work);
  }

  private async deliver(mail: QueuedMail, signal: AbortSignal): Promise<void> {
    if (!isSystemMail(mail.type) && (await this.actions.isDisabled('SEND_EMAIL'))) return this.done(mail);
    const recipients = await this.recipients(mail);
    const rendered = recipients && (await this.writer.write(mail));
    if (!rendered) return this.done(mail);
    if (recipients.leftOut > 0) this.log.warn(`A mail of ${mail.type} has ${recipients.leftOut} recipients too many`);
    const { unreached, type, at } = mail;
    const id = `muster.${mail.queuedAt}.${mail.id}`;
    const result = await this.sender.send({ ...rendered, ...recipients, id, type, at, unreached }, signal);
    // Not known whether it arrived: the next leader sends it again.
    if (signal.aborted) return;
    this.noteServer(result, this.clock.now());
    await this.mark(mail, result);
  }

  /** The recipients as of now: who asked for no mail meanwhile gets none. */
  private async recipients({ type, audience, user }: QueuedMail): Promise<Recipients | undefined> {
    const { admins, optInEmailMode } = this.smtp!;
    const all = [...audience.owners, ...admins, ...(user === undefined ? [] : [user])];
    // However many mails are written, the leader's own connections are for its passes.
    const { pool } = this.db;
    const [unwanted, wanted] = isSystemMail(type)
      ? [new Set<string>(), undefined]
      : await Promise.all([
          this.blacklist.unwanted(pool, all),
          optInEmailMode ? this.blacklist.wanted(pool, all) : undefined,
        ]);
    const mayWriteTo = (address: string): boolean => {
      const key = address.toLowerCase();
      return wanted ? wanted.has(key) : !unwanted.has(key);
    };
    return recipientsOf(audience, { admins, actionTaker: user, mayWriteTo });
  }

  private done(mail: QueuedMail): Promise<void> {
    return this.db.leaderTransaction((tx) => this.queue.remove(tx, [mail.id]));
  }

  private async mark(mail: QueuedMail, result: SendResult): Promise<void> {
    const now = this.clock.now();
    if (result.kind === 'sent') {
      this.figures.sent += 1;
      if (result.refused.length > 0)
        this.log.warn(`${result.refused.length} recipients of a mail were refused for good`);
      return this.done(mail);
    }
    const isPartly = result.kind === 'partly';
    const problem: MailProblem = isPartly ? { kind: 'later', message: result.message } : result;
    const attempts = mail.attempts + 1;
    const next = afterProblem(problem, { at: mail.at, attempts }, this.rules!, now, Math.random());
    this.figures.attemptsFailed += 1;
    await this.db.leaderTransaction(async (tx) => {
      await this.queue.putOff(tx, mail.id, {
        attempts,
        error: problem.message,
        now: new Date(now),
        until: new Date(next.kind === 'retry' ? next.nextAttemptAt : now),
        unreached: isPartly ? result.unreached : undefined,
      });
      if (next.kind === 'give-up') await this.queue.giveUp(tx, mail.id, new Date(now));
    });
    if (next.kind === 'retry') return;
    this.figures.failed += 1;
    this.log.warn(`Mail ${mail.id} of ${mail.type} is given up: ${problem.message}`);
  }

  /** One line when the server begins to fail, one when it is back. */
  private noteServer(result: SendResult, now: number): void {
    if (result.kind !== 'server') {
      if (this.server.failures > 0) this.log.log('The mail server accepts mails again');
      this.server = { failures: 0, since: 0, waitMillis: 0 };
      return;
    }
    const failures = this.server.failures + 1;
    if (failures === 1) this.log.warn(`The mail server accepts no mails, which wait: ${result.message}`);
    this.server = { failures, since: now, waitMillis: retryDelay(failures, this.rules!, Math.random()) };
  }

  /** It could not even be written, or marked: it is tried again, as one that the server did not take now. */
  private async broken(mail: QueuedMail, cause: unknown): Promise<void> {
    if (this.stopping.signal.aborted) return;
    if (isPassing(cause)) this.waiting.note(`A mail waits: ${String(cause)}`);
    else tellFailure(this.log, `Mail ${mail.id} of ${mail.type} cannot be sent now`, cause);
    const message = cause instanceof Error ? cause.message.slice(0, 500) : 'unknown';
    await this.mark(mail, { kind: 'later', message }).catch((again: unknown) =>
      this.waiting.note(`A mail waits: ${String(again)}`),
    );
  }

  private async stop(): Promise<void> {
    this.stopping.abort();
    await this.settled();
  }
}

const rateKey = ({ requestId, type }: Pick<MailRate, 'requestId' | 'type'>): string => `${type} ${requestId}`;
