import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../cluster/cluster-driver.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Degradations } from '../../platform/health/degradations.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { ThisInstance } from '../../platform/leadership/this-instance.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { PROCESS_ROLE, type ProcessRole } from '../../platform/process/process-role.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { InstanceRepository } from './instance.repository.js';

const lookEveryMillis = 2_000;
/** Seconds for which a report of another instance holds: twice the time in which it reports, and the time of a look. */
const toldForSeconds = 6;
/** An agent that is started again is away for less. Longer than `toldForSeconds`: what another says then is later than our loss. */
const patienceMillis = 8_000;

/**
 * Checks if this instance reaches an agent, and reports it to the others. An instance that reaches none leads only
 * while no other reaches one: it does not compete, and gives the leadership back when it has it. Agents that nobody
 * reaches keep nobody from leading.
 */
@Injectable()
export class AgentReach {
  /**
   * The reason why none is reached, and since when by the monotonic clock; undefined: one is, or was not looked for
   * yet.
   */
  private loss: { reason: string; since: number } | undefined;
  /** The instance that does in its place. */
  private other: string | undefined;

  constructor(
    private readonly db: Database,
    private readonly store: InstanceRepository,
    private readonly instance: ThisInstance,
    private readonly leadership: Leadership,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(PROCESS_ROLE) role: ProcessRole,
    @Inject(SETTINGS) settings: Settings,
    pollers: Pollers,
    degradations: Degradations,
  ) {
    if (role.kind === 'worker' || !settings.leadership.competes) return;
    const pass = () => this.runOnce();
    pollers.register({ name: 'agent-reach', everyMs: lookEveryMillis, onEveryInstance: true, pass });
    leadership.yieldWhile(() => this.other !== undefined);
    degradations.add(() => this.describe());
  }

  async runOnce(): Promise<void> {
    const reason = await this.driver.whyUnreachable();
    const since = this.loss?.since ?? this.clock.monotonic();
    this.loss = reason === undefined ? undefined : { reason, since };
    const wouldLead = reason === undefined && !this.leadership.standing().suspended;
    const { id } = this.instance;
    this.other = await this.db.transaction(async (tx) => {
      await this.store.tellReach(tx, id, wouldLead);
      return reason === undefined ? undefined : this.store.otherThatReaches(tx, id, toldForSeconds);
    });
    if (this.other === undefined || this.leadership.current() === undefined) return;
    if (this.clock.monotonic() - since >= patienceMillis)
      this.leadership.failOver(`it reaches no agent (${reason}), and ${this.other} does`);
  }

  private describe(): string[] {
    if (!this.loss) return [];
    const consequence = this.other === undefined ? 'nor does another one' : `it leaves leading to ${this.other}`;
    return [`This instance reaches no agent: ${this.loss.reason}; ${consequence}`];
  }
}
