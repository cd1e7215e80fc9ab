import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type Epoch } from '../../cluster/cluster-driver.js';
import { groupBy } from '../../core/group-by.js';
import { isSilent, silentAfterMillis } from '../../core/machines/silence.js';
import { SlaveRepository } from '../../modules/slaves/slave.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Degradations } from '../../platform/health/degradations.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { ClusterWatch } from './cluster-watch.service.js';

const checkEveryMillis = 2_000;

/** An agent that has machines, as this leader hears it. */
interface Agent {
  slaveIds: string[];
  /** Since it answered last; of one that has not yet, since this leader began to listen. */
  silentForMillis: number;
  /** It has answered this leader. */
  wasHeard: boolean;
}

/**
 * Agents that do not answer. Their machines get no new tasks and are DEAD until they answer again; their tasks run on, perhaps, and
 * are given up as TASK_UNREACHABLE only when the agent has had the time of a machine that vanished.
 */
@Injectable()
export class SilentAgents {
  private readonly unreachableAfterMillis: number;
  /** `since`: by the monotonic clock. */
  private term: { epoch: Epoch; since: number } | undefined;
  /** As they were at the last pass. */
  private agents = new Map<string, Agent>();
  private checkedAt = 0;
  /** Agents whose machines were put aside. */
  private readonly aside = new Set<string>();

  constructor(
    private readonly db: Database,
    private readonly slaves: SlaveRepository,
    private readonly watch: ClusterWatch,
    private readonly leadership: Leadership,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    pollers: Pollers,
    degradations: Degradations,
    metrics: Metrics,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.unreachableAfterMillis = Math.max(silentAfterMillis, settings.cluster.agentReregisterTimeoutSeconds * 1_000);
    pollers.register({ name: 'silent-agents', everyMs: checkEveryMillis, pass: () => this.runOnce() });
    degradations.add(() => this.describe());
    metrics.gauge('muster_agents_silent', 'Agents that do not answer the leader', [], (gauge) =>
      gauge.set(this.silent().length),
    );
    metrics.gauge(
      'muster_agent_last_heard_seconds',
      'Time since each agent answered the leader',
      ['agent'],
      (gauge) => {
        gauge.reset();
        if (this.leadership.current() === undefined) return;
        for (const [agent, { silentForMillis }] of this.agents)
          gauge.set({ agent }, (silentForMillis + this.sinceCheck()) / 1_000);
      },
    );
  }

  async runOnce(): Promise<void> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    if (this.term?.epoch !== epoch) {
      this.term = { epoch, since: this.clock.monotonic() };
      this.aside.clear();
    }
    this.agents = await this.check(this.term.since);
    await this.takeBack();
    for (const [agentId, agent] of this.silent()) {
      if (!this.aside.has(agentId) && agent.wasHeard) {
        this.aside.add(agentId);
        const lastAnswer = new Date(this.clock.now() - agent.silentForMillis);
        const reason = `Its agent has not answered since ${lastAnswer.toISOString()}`;
        for (const slaveId of agent.slaveIds) await this.watch.machineSilent(slaveId, reason);
      }
      if (agent.silentForMillis >= this.unreachableAfterMillis) await this.watch.tasksUnreachable(agent.slaveIds);
    }
  }

  private async check(since: number): Promise<Map<string, Agent>> {
    const heard = new Map(this.driver.machines().map(({ agentId, silentForMillis }) => [agentId, silentForMillis]));
    this.checkedAt = this.clock.monotonic();
    const ofTerm = this.checkedAt - since;
    const agents = new Map<string, Agent>();
    for (const { id, agentId } of await this.slaves.agents(this.db.leaderPool)) {
      const agent = agents.get(agentId);
      const silentFor = heard.get(agentId);
      // Gone, which is not silent: machines that are compared with the list see to it.
      if (silentFor === undefined && this.driver.listsEveryMachine) continue;
      if (agent) agent.slaveIds.push(id);
      else {
        const silentForMillis = silentFor ?? ofTerm;
        agents.set(agentId, { slaveIds: [id], silentForMillis, wasHeard: silentFor !== undefined });
      }
    }
    return agents;
  }

  /** Restores agents that answer again, even when the driver never noticed that they did not. */
  private async takeBack(): Promise<void> {
    const back = this.driver
      .machines()
      .filter(({ agentId, silentForMillis }) => this.aside.has(agentId) && !isSilent(silentForMillis));
    const agents = groupBy(back, ({ agentId }) => agentId);
    if (agents.size > 0) await this.watch.machines([...agents].map(([agentId, machines]) => ({ agentId, machines })));
    for (const agentId of this.aside) {
      const agent = this.agents.get(agentId);
      if (!agent || !isSilent(agent.silentForMillis)) this.aside.delete(agentId);
    }
  }

  private silent(): [agentId: string, agent: Agent][] {
    if (this.leadership.current() === undefined) return [];
    return [...this.agents].filter(([, { silentForMillis }]) => isSilent(silentForMillis));
  }

  private describe(): string[] {
    return this.silent().map(([agentId, { slaveIds, silentForMillis }]) => {
      const seconds = Math.round((silentForMillis + this.sinceCheck()) / 1_000);
      return `Agent '${agentId}' of slaves ${slaveIds.join(', ')} has not answered for ${seconds} seconds`;
    });
  }

  private sinceCheck(): number {
    return this.clock.monotonic() - this.checkedAt;
  }
}
