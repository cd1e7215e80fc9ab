import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type MachineUsage } from '../../cluster/cluster-driver.js';
import { isInactive } from '../../core/machines/machine-life.js';
import { slaveUsage, type SampledTask } from '../../core/usage/index.js';
import type { SlaveUsage, TaskUsage } from '../../core/model/usage.js';
import { Database } from '../../platform/database/database.js';
import { NotLeaderError } from '../../platform/leadership/leadership.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import type { StoredSlave } from '../slaves/slave.repository.js';
import { Rows } from '../../rows.js';
import { Limiter } from '../tasks/health/patient-limiter.js';
import { FiguresOfAgents } from './agent-figures.service.js';

/** A new sample of a slave and its tasks. */
export interface SampledSlave {
  slaveId: string;
  usage: SlaveUsage;
  tasks: SampledTask[];
}

/** Placement needs connections of the leader more urgently. */
const writesAtOnce = 2;

/** Asks all slaves what they and their tasks use, and stores it. */
@Injectable()
export class Sampler {
  private readonly log = new Logger(Sampler.name);
  private readonly asking: Limiter;
  private readonly writing = new Limiter(writesAtOnce);

  constructor(
    private readonly db: Database,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    private readonly rows: Rows,
    private readonly agents: FiguresOfAgents,
    @Inject(SETTINGS) { maxConcurrentUsageCollections }: Settings,
  ) {
    this.asking = new Limiter(maxConcurrentUsageCollections);
  }

  /** Answers those that could be asked. The others keep the usage they had. */
  async sampleAll(): Promise<SampledSlave[]> {
    const slaves = await this.rows.slaves.list(this.db.pool);
    const asked = slaves.filter(({ currentState: { state } }) => !isInactive(state) && state !== 'DECOMMISSIONED');
    const agents: MachineUsage['agent'][] = [];
    const tell = ({ agent }: MachineUsage) => void agents.push(agent);
    const sampled = await Promise.all(asked.map((slave) => this.asking.run(() => this.sample(slave, tell))));
    this.agents.replace(agents);
    return sampled.filter((slave) => slave !== undefined);
  }

  private async sample(slave: StoredSlave, tell: (figures: MachineUsage) => void): Promise<SampledSlave | undefined> {
    try {
      const figures = await this.driver.machineUsage(slave.id);
      if (figures) tell(figures);
      if (figures) return await this.writing.run(() => this.save(slave, figures));
      this.log.warn(`Slave '${slave.id}' has no figures`);
    } catch (cause) {
      if (cause instanceof NotLeaderError) throw cause;
      this.log.warn(`Cannot sample slave '${slave.id}': ${String(cause)}`);
    }
    return undefined;
  }

  private save(slave: StoredSlave, figures: MachineUsage): Promise<SampledSlave> {
    const byId = new Map(figures.tasks.map((task) => [task.taskId, task]));
    return this.db.leaderTransaction(async (tx) => {
      // What else runs there, and what has ended meanwhile, does not count.
      const tasks = (await this.rows.taskUsage.tasksOn(tx, slave.id)).map((task) => {
        const found = byId.get(task.taskId);
        return { ...task, sample: found && toSample(found) };
      });
      const offered = slave.resources && {
        cpus: slave.resources.cpus,
        memoryMb: slave.resources.mem,
        diskMb: slave.resources.disk,
      };
      const usage = slaveUsage(figures, offered ?? {}, tasks);
      await this.rows.taskUsage.save(
        tx,
        tasks.flatMap(({ taskId, requestId, sample }) => (sample ? [{ taskId, requestId, sample }] : [])),
      );
      await this.rows.usage.saveSlaveUsage(tx, slave.id, usage);
      return { slaveId: slave.id, usage, tasks };
    });
  }
}

const toSample = (figures: MachineUsage['tasks'][number]): TaskUsage => ({
  memoryTotalBytes: Math.round(figures.memTotalBytes),
  timestamp: Math.round(figures.timestamp * 1_000),
  cpuSeconds: figures.cpusUserTimeSecs + figures.cpusSystemTimeSecs,
  diskTotalBytes: Math.round(figures.diskUsedBytes),
  cpusNrPeriods: figures.cpusNrPeriods,
  cpusNrThrottled: figures.cpusNrThrottled,
  cpusThrottledTimeSecs: figures.cpusThrottledTimeSecs,
});
