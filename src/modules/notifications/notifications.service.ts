import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { MailBlacklist } from './mail-blacklist.service.js';
import { readAddress } from './read-address.js';

/** Who wants no mail. */
@Injectable()
export class NotificationsService {
  constructor(
    private readonly db: Database,
    private readonly blacklist: MailBlacklist,
  ) {}

  list(): Promise<string[]> {
    return this.blacklist.list(this.db.manager);
  }

  async unsubscribe(body: unknown): Promise<void> {
    const address = readAddress(body);
    await this.db.transaction((tx) => this.blacklist.add(tx, address));
  }

  async subscribe(body: unknown): Promise<void> {
    const address = readAddress(body);
    await this.db.transaction((tx) => this.blacklist.remove(tx, address));
  }
}
