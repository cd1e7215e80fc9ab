import { Inject, Injectable, Logger } from '@nestjs/common';
import { actionsToDisable, detectionRules, disableRules, judgeDisasters } from '../../core/disasters/index.js';
import type { DisasterDataPoint } from '../../core/model/state.js';
import { type DisasterType, disasterTypes } from '../../core/model/enums.js';
import { Rows } from '../../rows.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { DisasterFigures } from './disaster-figures.service.js';

/** Newest figures that a mail shows. */
const pointsTold = 10;

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
    private readonly rows: Rows,
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
    if (outcome.found.length > 0) this.wake.signal('mails');
    this.report(outcome);
  }

  private tell(tx: Transaction, found: DisasterType[], points: DisasterDataPoint[], at: number): Promise<void> {
    const disasters = disasterTypes.map((type) => ({ type, active: found.includes(type) }));
    const facts = { kind: 'disaster', disasters, points: points.slice(0, pointsTold) } as const;
    return this.rows.mailOutbox.queue(tx, [{ type: 'DISASTER_DETECTED', at, facts }]);
  }

  private decide(point: DisasterDataPoint, now: number): Promise<Outcome> {
    return this.db.leaderTransaction(async (tx) => {
      const { automated } = await this.rows.disasters.lock(tx);
      const expired = await this.rows.disabledActions.enableExpired(tx, now);
      await this.rows.disasters.addDataPoint(tx, point, this.settings.disasterDetection.statsHistorySize);
      const before = await this.rows.disasters.active(tx);
      const points = await this.rows.disasters.dataPoints(tx);
      const found = judgeDisasters(points, before, detectionRules(this.settings), now);
      await this.rows.disasters.replaceActive(tx, found, now);
      if (found.some((type) => !before.includes(type))) await this.tell(tx, found, points, now);
      const off = automated ? actionsToDisable(found, disableRules(this.settings), now) : [];
      await this.rows.disabledActions.disableBecauseOfDisaster(tx, off);
      const on = found.length === 0 ? await this.rows.disabledActions.enableClearable(tx) : 0;
      return { before, found, switched: expired + off.length + on > 0 };
    });
  }

  private report({ before, found }: Outcome): void {
    const begun = found.filter((type) => !before.includes(type));
    const over = before.filter((type) => !found.includes(type));
    if (begun.length > 0) this.log.error(`Disaster: ${begun.join(', ')}`);
    if (over.length > 0) this.log.log(`Disaster over: ${over.join(', ')}`);
  }
}
