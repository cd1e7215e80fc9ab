import { Inject, Injectable } from '@nestjs/common';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Sampler } from './sampler.service.js';
import { Shuffler } from './shuffler.service.js';
import { Utilizations } from './utilizations.service.js';

/** Every minute: what is used, what that makes of requests and the cluster, and who has to move because of it. */
@Injectable()
export class UsagePoller {
  constructor(
    private readonly sampler: Sampler,
    private readonly utilizations: Utilizations,
    private readonly shuffler: Shuffler,
    pollers: Pollers,
    @Inject(SETTINGS) { checkUsageEveryMillis }: Settings,
  ) {
    pollers.register({ name: 'usage', everyMs: checkUsageEveryMillis, pass: (now) => this.runOnce(now) });
  }

  async runOnce(now: number): Promise<void> {
    const sampled = await this.sampler.sampleAll();
    await this.utilizations.refresh(now);
    await this.shuffler.shuffle(sampled, now);
  }
}
