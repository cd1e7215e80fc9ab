import { Injectable, Logger } from '@nestjs/common';
import { hostname } from 'node:os';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { ThisInstance } from '../../platform/leadership/this-instance.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { Wake } from '../../platform/wake/wake.js';
import { MailOutboxRepository } from '../mail/mail-outbox.repository.js';

/** Names the address to ask instead. */
export const notLeader = (leader: string | undefined): SchedulerError =>
  new SchedulerError(
    'NOT_LEADER',
    leader === undefined ? 'No instance leads at present' : `This instance does not lead; ${leader} does`,
    { extra: leader === undefined ? {} : { leader } },
  );

/** Another instance is to lead, because an operator wants it. */
@Injectable()
export class Failovers {
  private readonly log = new Logger(Failovers.name);

  constructor(
    private readonly leadership: Leadership,
    private readonly instance: ThisInstance,
    private readonly db: Database,
    private readonly mails: MailOutboxRepository,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  /** Makes the instance that was asked stop leading at once; it competes again inside the same process. */
  async failOver(caller: Caller): Promise<void> {
    if (this.leadership.current() === undefined) throw notLeader(await this.otherLeader());
    this.log.warn(`${caller.email ?? caller.id} requested a failover`);
    await this.abort(`MANUAL: ${caller.email ?? caller.id} requested a failover`);
  }

  /** It stops leading, and those who run the cluster are told by whichever leads next. */
  async abort(reason: string): Promise<void> {
    if (this.leadership.current() !== undefined) await this.tell(reason);
    this.leadership.failOver(reason);
  }

  /** Notifies the others. A failure of that keeps no instance from giving up. */
  private async tell(reason: string): Promise<void> {
    if (!this.mails.isOn) return;
    const at = this.clock.now();
    const facts = { kind: 'aborting', host: hostname(), reason } as const;
    try {
      await this.db.transaction((tx) => this.mails.queue(tx, [{ type: 'SCHEDULER_ABORTING', at, facts }]));
      this.wake.signal('mails');
    } catch (cause) {
      tellFailure(this.log, 'No mail can tell that this instance stops leading', cause);
    }
  }

  /** While this instance gives its own lease back, none leads. */
  private async otherLeader(): Promise<string | undefined> {
    const leader = await this.leadership.leaderAddress();
    return leader === this.instance.address() ? undefined : leader;
  }
}
