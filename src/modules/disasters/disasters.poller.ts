import { Inject, Injectable, Logger } from '@nestjs/common';
import { actionsToDisable, judgeDisasters } from '../../core/disasters/index.js';
import type { DisasterDataPoint } from '../../core/model/disaster.js';
import type { DisasterType } from '../../core/model/enums.js';
import { Database } from '../../platform/database/database.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { detectionRules, disableRules } from './detection-rules.js';
import { DisasterFigures } from './disaster-figures.service.js';
import { DisasterStore } from './disaster-store.service.js';

interface Outcome {
  before: DisasterType[];
  found: DisasterType[];
  /** Some action was switched off or on. */
  switched: boolean;
}

/** Looks for disasters, and switches actions off and on as it finds them and finds them gone. */
@Injectable()
export class DisastersPoller {
  private readonly log = new Logger(DisastersPoller.name);

  constructor(
    private readonly db: Database,
    private readonly figures: DisasterFigures,
    private readonly store: DisasterStore,
    private readonly leadership: Leadership,
    private readonly wake: Wake,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const { enabled, runEveryMillis } = settings.disasterDetection;
    if (enabled) pollers.register({ name: 'disasters', everyMs: runEveryMillis, pass: (now) => this.runOnce(now) });
  }

  /** One look. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    const { point, stored } = await this.figures.collect(epoch, now);
    const outcome = await this.decide(point, now);
    stored();
    if (outcome.switched) this.wake.signal('actions');
    this.report(outcome);
  }

  private decide(point: DisasterDataPoint, now: number): Promise<Outcome> {
    return this.db.leaderTransaction(async (tx) => {
      const { automated } = await this.store.lock(tx);
      const expired = await this.store.enableExpired(tx, now);
      await this.store.addDataPoint(tx, point, this.settings.disasterDetection.statsHistorySize);
      const before = await this.store.active(tx);
      const points = await this.store.dataPoints(tx);
      const found = judgeDisasters(points, before, detectionRules(this.settings), now);
      await this.store.replaceActive(tx, found, now);
      const off = automated ? actionsToDisable(found, disableRules(this.settings), now) : [];
      await this.store.disableBecauseOfDisaster(tx, off);
      const on = found.length === 0 ? await this.store.enableClearable(tx) : [];
      return { before, found, switched: expired.length + off.length + on.length > 0 };
    });
  }

  private report({ before, found }: Outcome): void {
    const begun = found.filter((type) => !before.includes(type));
    const over = before.filter((type) => !found.includes(type));
    if (begun.length > 0) this.log.error(`Disaster: ${begun.join(', ')}`);
    if (over.length > 0) this.log.log(`No disaster any more: ${over.join(', ')}`);
  }
}
