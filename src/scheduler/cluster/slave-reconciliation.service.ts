import { Inject, Injectable, Logger } from '@nestjs/common';
import { hasPassed } from '../../core/elapsed.js';
import { FleetComparison, type ComparisonOptions } from '../../modules/slaves/fleet-comparison.service.js';
import { MachineRemoval } from '../../modules/slaves/machine-removal.service.js';
import type { Epoch } from '../../cluster/cluster-driver.js';
import { Clock } from '../../platform/clock.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { UnaskedMachines } from '../memory/unasked-machines.js';
import { ClusterWatch } from './cluster-watch.service.js';
import { KnownFleet } from './known-fleet.service.js';

/** Agents, or a cluster that will list all its machines, may not have answered yet when the leader began. */
const checkAgainMillis = 2_000;

/** Progress of this leader with the machines from before its term. */
interface ReconciliationTerm {
  epoch: Epoch;
  /** By the monotonic clock. */
  since: number;
  comparedAtStart: boolean;
  /** True if that comparison was with a list of all machines. */
  comparedWhole: boolean;
  silentJudged: boolean;
}

/**
 * Compares the slaves we know with those that the cluster lists: when a leader begins, regularly, and when a record was
 * removed. Nothing is missed before each agent that is known has answered, or has had the time to; those that do not get the time of a
 * machine that vanished.
 */
@Injectable()
export class SlaveReconciliation {
  private readonly log = new Logger(SlaveReconciliation.name);
  private readonly everyMillis: number;
  private readonly silenceMillis: number;
  private term: ReconciliationTerm | undefined;
  private lastRegularAt = 0;

  constructor(
    private readonly leadership: Leadership,
    private readonly comparison: FleetComparison,
    private readonly removal: MachineRemoval,
    private readonly watch: ClusterWatch,
    private readonly fleet: KnownFleet,
    private readonly unasked: UnaskedMachines,
    private readonly clock: Clock,
    private readonly wake: Wake,
    pollers: Pollers,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.everyMillis = settings.reconcileSlavesEveryMinutes * 60_000;
    this.silenceMillis = settings.cluster.agentReregisterTimeoutSeconds * 1_000;
    pollers.register({
      name: 'slave-reconciliation',
      everyMs: this.everyMillis,
      pass: (now) => this.runOnce(now),
      // Also signalled whenever an instance begins to lead.
      wakeOn: ['fleet'],
    });
  }

  /** Answers when to look again: when silent agents have had their time, or sooner for a list that is not whole yet. */
  async runOnce(now: number): Promise<number | undefined> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return undefined;
    if (this.term?.epoch !== epoch) {
      this.term = {
        epoch,
        since: this.clock.monotonic(),
        comparedAtStart: false,
        comparedWhole: false,
        silentJudged: false,
      };
      this.lastRegularAt = now;
    }
    const { term } = this;
    if (!(await this.fleet.isHeard())) {
      await this.comparison.record(now);
      return now + checkAgainMillis;
    }
    const silentForMillis = term.since + this.silenceMillis - this.clock.monotonic();
    const { isWhole } = this.comparison;
    if (!term.comparedAtStart || (isWhole && !term.comparedWhole)) {
      await this.compare({ now, atStart: true, missing: 'UNLISTED' });
      term.comparedAtStart = true;
      term.comparedWhole = isWhole === true;
      this.fleet.compared();
    } else if (!term.silentJudged && silentForMillis <= 0) {
      await this.compare({ now, atStart: true, missing: 'SILENT' });
      term.silentJudged = true;
    } else if (this.everyMillis >= 1 && hasPassed(this.lastRegularAt, this.everyMillis, now)) {
      await this.compare({ now, atStart: false, missing: 'UNLISTED' });
      await this.removal.forgetOld(now);
      await this.unasked.forgetRemoved();
      this.lastRegularAt = now;
    } else {
      await this.comparison.record(now);
    }
    if (isWhole === false) return now + checkAgainMillis;
    return term.silentJudged ? undefined : now + silentForMillis;
  }

  private async compare(options: ComparisonOptions): Promise<void> {
    const stranded = await this.comparison.run(options);
    if (stranded.length > 0) this.log.warn(`${stranded.length} tasks were on machines that are gone`);
    await this.watch.strandedTasks(stranded);
    this.wake.signal('machines', 'scheduler');
  }
}
