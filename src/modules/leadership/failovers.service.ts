import { Injectable, Logger } from '@nestjs/common';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { ThisInstance } from '../../platform/leadership/this-instance.js';

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
  ) {}

  /** Of the instance that was asked: it stops leading at once and competes again inside the same process. */
  async failOver(caller: Caller): Promise<void> {
    if (this.leadership.current() === undefined) throw notLeader(await this.otherLeader());
    this.log.warn(`${caller.email ?? caller.id} wants another instance to lead`);
    this.leadership.failOver(`MANUAL: ${caller.email ?? caller.id} wants another instance to lead`);
  }

  /** While this instance gives its own lease back, none leads. */
  private async otherLeader(): Promise<string | undefined> {
    const leader = await this.leadership.leaderAddress();
    return leader === this.instance.address() ? undefined : leader;
  }
}
