import { Inject, Injectable } from '@nestjs/common';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { EntryPass } from './entry-pass.service.js';
import { LoadBalancer } from './load-balancer.js';

/** Tasks enter the load balancer when they are healthy. */
@Injectable()
export class LoadBalancerEntryPoller {
  constructor(
    private readonly entries: EntryPass,
    private readonly loadBalancer: LoadBalancer,
    pollers: Pollers,
    @Inject(SETTINGS) { checkNewTasksEverySeconds }: Settings,
  ) {
    pollers.register({
      name: 'load-balancer-entry',
      everyMs: checkNewTasksEverySeconds * 1000,
      wakeOn: ['load-balancer'],
      pass: (now) => this.runOnce(now),
    });
  }

  /** One pass. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    if (this.loadBalancer.enabled) await this.entries.run(now);
  }
}
