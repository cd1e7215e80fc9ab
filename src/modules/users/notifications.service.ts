import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { MailBlacklistRepository } from './mail-blacklist.repository.js';
import { SchedulerError } from '../../platform/errors.js';

/** The addresses that want no mail, and those that want it. */
@Injectable()
export class NotificationsService {
  constructor(
    private readonly db: Database,
    private readonly blacklist: MailBlacklistRepository,
  ) {}

  list(): Promise<string[]> {
    return this.blacklist.list(this.db.pool);
  }

  subscribed(): Promise<string[]> {
    return this.blacklist.subscribed(this.db.pool);
  }

  async unsubscribe(body: unknown): Promise<void> {
    const address = readAddress(body);
    await this.db.transaction((tx) => this.blacklist.add(tx, address));
  }

  async subscribe(body: unknown): Promise<void> {
    const address = readAddress(body);
    await this.db.transaction((tx) => this.blacklist.subscribe(tx, address));
  }
}

/** As long as an address can be. */
export const longestAddress = 320;

/** The address in a body that is the bare text or the text in double quotes. Throws a 400 naming the broken rule. */
function readAddress(body: unknown): string {
  const text = typeof body === 'string' ? body.trim() : '';
  const address = /^".*"$/s.test(text) ? text.slice(1, -1).trim() : text;
  if (address === '') throw refusal('required', 'The body must be an e-mail address, as plain text or a JSON string');
  if (address.length > longestAddress) {
    throw refusal('length', `An e-mail address has at most ${longestAddress} characters`);
  }
  if (!/^[^\s@"][^\s"]*@[^\s@"]+$/.test(address)) throw refusal('address', `'${address}' is not an e-mail address`);
  return address;
}

const refusal = (rule: string, message: string): SchedulerError =>
  SchedulerError.invalid('INVALID_REQUEST', [{ field: '', rule, message }]);
