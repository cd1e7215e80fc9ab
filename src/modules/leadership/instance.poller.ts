import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import type { Poller } from '../../platform/poller/poller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Instances } from './instances.service.js';

/** Writes down how this instance is: regularly, at once when the leadership changes, and not at all when it has ended. */
@Injectable()
export class InstancePoller implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger(InstancePoller.name);
  private poller: Poller | undefined;

  constructor(
    private readonly db: Database,
    private readonly instances: Instances,
    private readonly leadership: Leadership,
    private readonly pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    const poller = this.pollers.register({
      name: 'instances',
      everyMs: this.settings.saveStateEverySeconds * 1_000,
      onEveryInstance: true,
      pass: (now) => this.runOnce(now),
    });
    this.leadership.onChange(() => poller.wake());
    this.poller = poller;
  }

  async runOnce(now: number): Promise<void> {
    await this.db.transaction((tx) => this.instances.write(tx, now));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.poller?.stop();
    await this.db
      .transaction((tx) => this.instances.removeThis(tx))
      .catch((cause: unknown) => this.log.debug(`This instance is left in the list: ${String(cause)}`));
  }
}
