import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type Epoch } from '../../cluster/cluster-driver.js';
import { isSilent } from '../../core/machines/silence.js';
import { SlaveRepository } from '../../modules/slaves/slave.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Degradations } from '../../platform/health/degradations.js';
import { Readiness } from '../../platform/health/readiness.js';
import { Leadership } from '../../platform/leadership/leadership.js';

/** Findings about the machines in one term. */
interface FleetTerm {
  epoch: Epoch;
  /** By the monotonic clock. */
  since: number;
  /** Each agent has answered, or has had its time to. */
  isHeard: boolean;
  /** Machines that no agent presents were looked for. */
  isCompared: boolean;
  /** Records say what the agents said. */
  isRecorded: boolean;
}

/**
 * Tells if the machines are known: for a leader, when each agent that has machines by their records has answered it
 * once, or could have; for another instance, when there are records. Until then nothing is concluded from what is not
 * there, and no instance is ready: what asks for more machines than are known would be refused. An agent that can
 * answer does so before it counts as silent, so that is the time which all of them get, and after which an instance
 * serves without machines.
 */
@Injectable()
export class KnownFleet {
  private readonly begunAt: number;
  private term: FleetTerm | undefined;
  /** This instance serves although there is none. */
  private isWithout = false;

  constructor(
    private readonly db: Database,
    private readonly slaves: SlaveRepository,
    private readonly leadership: Leadership,
    private readonly clock: Clock,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    readiness: Readiness,
    degradations: Degradations,
  ) {
    this.begunAt = clock.monotonic();
    readiness.require(() => this.whyNotReady());
    degradations.add(() => (this.isWithout ? [noMachines] : []));
  }

  /** True on the leader when machines that no agent presents are gone. */
  async isHeard(): Promise<boolean> {
    const term = this.termNow();
    if (!term) return false;
    term.isHeard ||= this.isOver(term.since) || (await this.haveAllAnswered());
    return term.isHeard;
  }

  /** The machines of before its time were compared with those that it knows: from now on, what an agent leaves out is news. */
  get isCompared(): boolean {
    return this.termNow()?.isCompared === true;
  }

  compared(): void {
    const term = this.termNow();
    if (term) term.isCompared = true;
  }

  private termNow(): FleetTerm | undefined {
    const epoch = this.leadership.current();
    if (epoch === undefined) this.term = undefined;
    else if (this.term?.epoch !== epoch)
      this.term = { epoch, since: this.clock.monotonic(), isHeard: false, isCompared: false, isRecorded: false };
    return this.term;
  }

  private isOver(since: number): boolean {
    return isSilent(this.clock.monotonic() - since);
  }

  private async haveAllAnswered(): Promise<boolean> {
    const { listsEveryMachine } = this.driver;
    if (listsEveryMachine !== undefined) return listsEveryMachine;
    const answered = new Set(this.driver.machines().map(({ agentId }) => agentId));
    return (await this.slaves.present(this.db.leaderPool)).every(({ agentId }) => answered.has(agentId));
  }

  private async whyNotReady(): Promise<string | undefined> {
    const term = this.termNow();
    if (term?.isRecorded) return undefined;
    const recorded = new Set((await this.slaves.present(this.db.pool)).map(({ id }) => id));
    const isOver = this.isOver(term?.since ?? this.begunAt);
    this.isWithout = isOver && recorded.size === 0;
    if (isOver) return undefined;
    if (!term) return recorded.size > 0 ? undefined : noMachines;
    if (!(await this.isHeard())) return 'Not every agent has answered the new leader yet';
    const listed = this.driver.machines().filter(({ silentForMillis }) => !isSilent(silentForMillis));
    term.isRecorded = listed.length > 0 && listed.every(({ slaveId }) => recorded.has(slaveId));
    return term.isRecorded ? undefined : noMachines;
  }
}

const noMachines = 'No machine is known: no agent has answered yet';
