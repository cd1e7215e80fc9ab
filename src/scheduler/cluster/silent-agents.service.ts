import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type Epoch } from '../../cluster/cluster-driver.js';
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

const lookEveryMillis = 2_000;

/** An agent that has machines, as this leader hears it. */
interface Agent {
  slaveIds: string[];
  /** When it answered last; of one that has not yet, when this leader began to listen. */
  heardAt: number;
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
  private term: { epoch: Epoch; since: number } | undefined;
  private agents = new Map<string, Agent>();
  /** Those whose machines were put aside. */
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
    pollers.register({ name: 'silent-agents', everyMs: lookEveryMillis, pass: (now) => this.runOnce(now) });
    degradations.add(() => this.describe());
    metrics.gauge('muster_agents_silent', 'Agents that do not answer the leader', [], (gauge) =>
      gauge.set(this.silent(this.clock.now()).length),
    );
    metrics.gauge(
      'muster_agent_last_heard_seconds',
      'Time since each agent answered the leader',
      ['agent'],
      (gauge) => {
        gauge.reset();
        if (this.leadership.current() === undefined) return;
        for (const [agent, { heardAt }] of this.agents) gauge.set({ agent }, (this.clock.now() - heardAt) / 1_000);
      },
    );
  }

  async runOnce(now: number): Promise<void> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    if (this.term?.epoch !== epoch) {
      this.term = { epoch, since: now };
      this.aside.clear();
    }
    this.agents = await this.look(this.term.since);
    await this.takeBack(now);
    for (const [agentId, agent] of this.silent(now)) {
      if (!this.aside.has(agentId) && agent.wasHeard) {
        this.aside.add(agentId);
        const reason = `Its agent has not answered since ${new Date(agent.heardAt).toISOString()}`;
        for (const slaveId of agent.slaveIds) await this.watch.machineSilent(slaveId, reason);
      }
      if (now - agent.heardAt >= this.unreachableAfterMillis) await this.watch.tasksUnreachable(agent.slaveIds);
    }
  }

  private async look(since: number): Promise<Map<string, Agent>> {
    const heard = new Map(this.driver.machines().map(({ agentId, seenAt }) => [agentId, seenAt]));
    const agents = new Map<string, Agent>();
    for (const { id, agentId } of await this.slaves.agents(this.db.leaderSource.manager)) {
      const agent = agents.get(agentId);
      const heardAt = heard.get(agentId);
      // Gone, which is not silent: machines that are compared with the list see to it.
      if (heardAt === undefined && this.driver.listsEveryMachine) continue;
      if (agent) agent.slaveIds.push(id);
      else agents.set(agentId, { slaveIds: [id], heardAt: heardAt ?? since, wasHeard: heardAt !== undefined });
    }
    return agents;
  }

  /** Those that answer again: also where the driver has never noticed that they did not. */
  private async takeBack(now: number): Promise<void> {
    for (const machine of this.driver.machines()) {
      if (this.aside.has(machine.agentId) && !isSilent(machine.seenAt, now)) await this.watch.machineUp(machine);
    }
    for (const agentId of this.aside) {
      const agent = this.agents.get(agentId);
      if (!agent || !isSilent(agent.heardAt, now)) this.aside.delete(agentId);
    }
  }

  private silent(now: number): [agentId: string, agent: Agent][] {
    if (this.leadership.current() === undefined) return [];
    return [...this.agents].filter(([, { heardAt }]) => isSilent(heardAt, now));
  }

  private describe(): string[] {
    const now = this.clock.now();
    return this.silent(now).map(([agentId, { slaveIds, heardAt }]) => {
      const seconds = Math.round((now - heardAt) / 1_000);
      return `Agent '${agentId}' of slaves ${slaveIds.join(', ')} has not answered for ${seconds} seconds`;
    });
  }
}
