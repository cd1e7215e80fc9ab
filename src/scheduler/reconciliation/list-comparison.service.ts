import { Inject, Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CLUSTER_DRIVER, type AgentTaskList, type ClusterDriver, type Epoch } from '../../cluster/cluster-driver.js';
import { isGoneByList, undelivered } from '../../core/completion/index.js';
import { groupBy } from '../../core/group-by.js';
import { compareTask, type BelievedTask } from '../../core/reconciliation/reconciliation.js';
import { isTerminal } from '../../core/model/enums.js';
import { MachineTaskRepository } from '../../modules/tasks/machine-task.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Wake } from '../../platform/wake/wake.js';
import { HeldUpdates } from '../status/held-updates.service.js';
import type { Report } from '../status/report.js';
import { AgentCursorRepository } from '../status/agent-cursor.repository.js';
import { StatusUpdates } from '../status/status-updates.service.js';
import { UnwantedTasks } from '../status/unwanted-tasks.service.js';

/** After so many lists other work gets its turn: the lease is renewed by the same thread. */
const listsInOneGo = 100;

/** A machine writes each of them to its disk before it answers. */
const withdrawnPerCall = 200;

interface Comparison {
  /** Active tasks for which their machine has answered. */
  answered: string[];
  /** Active tasks of which updates were still on their way: what is missing in the list says nothing yet. */
  tooEarly: string[];
  /** Tasks that were given up, of which the same is true, or whose launch could not be withdrawn. */
  unsettled: string[];
  /** Slaves of which all is recorded that their list says. */
  slaveIds: string[];
}

/** Asks machines which tasks they hold, and believes them where they differ from our rows. */
@Injectable()
export class ListComparison {
  constructor(
    private readonly db: Database,
    private readonly tasks: MachineTaskRepository,
    private readonly cursors: AgentCursorRepository,
    private readonly held: HeldUpdates,
    private readonly status: StatusUpdates,
    private readonly unwanted: UnwantedTasks,
    private readonly clock: Clock,
    private readonly wake: Wake,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /** All tasks of the agents named, or of all agents, strangers among them. */
  async all(epoch: Epoch, agentIds?: ReadonlySet<string>): Promise<Comparison> {
    // Read before the lists are made: a launch that is answered later may be missing in them.
    const believed = await this.tasks.believed(this.db.pool);
    const lists = await this.driver.reconcile(epoch, agentIds);
    const known = new Set(believed.map(({ taskId }) => taskId));
    const result = await this.compare(lists, believed, epoch);
    await this.killUnexpected(lists, known);
    return result;
  }

  /** Only these tasks, of the machines that have them; and strangers of the agents that are back after a long absence. */
  async only(epoch: Epoch, taskIds: readonly string[], agentsBack: ReadonlySet<string>): Promise<Comparison> {
    const believed = await this.tasks.believed(this.db.pool, taskIds);
    const agents = this.agentsOfSlaves();
    const asked = new Set([...agentsBack, ...believed.map(({ slaveId }) => agents.get(slaveId) ?? slaveId)]);
    if (asked.size === 0) return { answered: [], tooEarly: [], unsettled: [], slaveIds: [] };
    const lists = await this.driver.reconcile(epoch, asked);
    const result = await this.compare(lists, believed, epoch);
    // Rows of what ran there may have gone to the history since.
    await this.killUnexpected(
      lists.filter(({ agentId }) => agentsBack.has(agentId)),
      new Set(taskIds),
    );
    return result;
  }

  private async compare(
    lists: readonly AgentTaskList[],
    believed: readonly BelievedTask[],
    epoch: Epoch,
  ): Promise<Comparison> {
    const bySlave = new Map<string, BelievedTask[]>();
    for (const task of believed) {
      // What waits to be stored knows better than the absence of the task, which its machine may have forgotten.
      if (this.held.has(task.taskId)) continue;
      const former = bySlave.get(task.slaveId);
      if (former) former.push(task);
      else bySlave.set(task.slaveId, [task]);
    }
    const slavesOfAgents = this.slavesOfAgents();
    const result: Comparison = { answered: [], tooEarly: [], unsettled: [], slaveIds: [] };
    const returning = new Set(believed.filter(({ ended }) => ended).map(({ taskId }) => taskId));
    for (let first = 0; first < lists.length; first += listsInOneGo) {
      const some = lists.slice(first, first + listsInOneGo);
      const cursors = await this.cursors.findMany(
        this.db.pool,
        some.map(({ agentId }) => agentId),
      );
      const reports: Report[] = [];
      const current: string[] = [];
      const gone: string[] = [];
      for (const list of some) {
        const slaves = slavesOfAgents.get(list.agentId) ?? [list.agentId];
        const tasks = slaves.flatMap((slaveId) => bySlave.get(slaveId) ?? []);
        const cursor = cursors.get(list.agentId);
        const applied = cursor?.incarnation === list.incarnation ? cursor.number : 0;
        // More is acknowledged than applied only when the database is older than it was: those updates come no more.
        const stored = Math.max(applied, list.acknowledged ?? 0);
        const isCurrent = stored >= list.asOfUpdate;
        this.compareList(list, tasks, isCurrent, result, { reports, gone });
        if (isCurrent) current.push(...slaves);
      }
      await this.status.concluded(await this.withoutDoubt(reports, result, epoch), returning);
      await this.confirmGone(gone);
      result.slaveIds.push(...current);
      await nextTurn();
    }
    return result;
  }

  private compareList(
    list: AgentTaskList,
    tasks: readonly BelievedTask[],
    isCurrent: boolean,
    result: Comparison,
    /** `gone`: tasks that were given up, of which the list confirms that they do not run. */
    { reports, gone }: { reports: Report[]; gone: string[] },
  ): void {
    const states = new Map(list.tasks.map(({ taskId, state }) => [taskId, state]));
    const timestamp = this.clock.now();
    for (const task of tasks) {
      if (task.incarnation !== list.incarnation) continue;
      const listed = states.get(task.taskId);
      if (isCurrent && isGoneByList(task, listed)) gone.push(task.taskId);
      const found = compareTask(task, listed, list.incarnation);
      if (found && isCurrent) reports.push({ ...found, timestamp });
      const isTooEarly = found && !isCurrent;
      if (task.ended) result.unsettled.push(...(isTooEarly ? [task.taskId] : []));
      else (isTooEarly ? result.tooEarly : result.answered).push(task.taskId);
    }
  }

  private async confirmGone(taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    await this.db.leaderTransaction((tx) => this.tasks.confirmGone(tx, taskIds));
    this.wake.signal('scheduler', 'history');
  }

  /**
   * A launch that a machine does not know may still be on its way to it. So it has to promise first that it will start nothing
   * under its id; where it does not, it is asked again.
   */
  private async withoutDoubt(reports: readonly Report[], result: Comparison, epoch: Epoch): Promise<Report[]> {
    const isMissing = ({ state }: Report): boolean => state === undelivered.state;
    const bySlave = groupBy(reports.filter(isMissing), ({ slaveId }) => slaveId);
    const withdrawn = new Set<string>();
    for (const [slaveId, missing] of bySlave) {
      for (let first = 0; first < missing.length; first += withdrawnPerCall) {
        const ids = missing.slice(first, first + withdrawnPerCall).map(({ taskId }) => taskId);
        for (const id of await this.driver.withdraw(ids, slaveId, epoch)) withdrawn.add(id);
      }
    }
    const isCertain = (report: Report): boolean => !isMissing(report) || withdrawn.has(report.taskId);
    result.unsettled.push(...reports.filter((report) => !isCertain(report)).map(({ taskId }) => taskId));
    return reports.filter(isCertain);
  }

  /** Rows exist before a launch is sent, so a task without one is not wanted any more. */
  private async killUnexpected(lists: readonly AgentTaskList[], known: ReadonlySet<string>): Promise<void> {
    const slavesOfAgents = this.slavesOfAgents();
    const running = lists.flatMap(({ agentId, tasks }) =>
      tasks
        .filter(({ taskId, state }) => !isTerminal(state) && !known.has(taskId))
        .map((task) => ({ ...task, slaveId: slavesOfAgents.get(agentId)?.[0] ?? agentId })),
    );
    if (running.length === 0) return;
    const launchedSince = await this.tasks.live(
      this.db.pool,
      running.map(({ taskId }) => taskId),
    );
    this.unwanted.kill(running.filter(({ taskId }) => !launchedSince.has(taskId)));
  }

  /** By slave id. */
  agentsOfSlaves(): Map<string, string> {
    return new Map(this.driver.machines().map(({ slaveId, agentId }) => [slaveId, agentId]));
  }

  private slavesOfAgents(): Map<string, string[]> {
    const slaves = new Map<string, string[]>();
    for (const { agentId, slaveId } of this.driver.machines()) {
      const former = slaves.get(agentId);
      if (former) former.push(slaveId);
      else slaves.set(agentId, [slaveId]);
    }
    return slaves;
  }
}
