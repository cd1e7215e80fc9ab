import { setImmediate as nextTurn } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { groupBy } from '../../core/group-by.js';
import type { MachineChangeRequest, MachineKind } from '../../core/model/machine.js';
import type { PendingTask } from '../../core/model/task.js';
import { type PlannedMove, plannedMoves, replacements, type RequestToMove } from '../../core/plan/index.js';
import { explanationText, type PlacementOutcome, placeTasks } from '../../core/placement/index.js';
import { MachineChanges } from '../../modules/slaves/machine-changes.service.js';
import { kindText, type StoredSlave } from '../../modules/slaves/slave.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import { ExplainLoader, type PlacementScene } from '../explain/explain-loader.service.js';
import { workRules } from '../rules.js';
import type { DecommissionPlanDto, PlannedMoveDto } from './dto/decommission-plan.dto.js';
import { planTaskOf } from './plan-facts.service.js';

/** Placements between two turns of other calls. */
const placementsInOneGo = 100;

/** Plans of decommissions. Works on every instance, in a transaction that cannot write. */
@Injectable()
export class DecommissionPlans {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly changes: MachineChanges,
    private readonly loader: ExplainLoader,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async plan(kind: MachineKind, id: string, asked: MachineChangeRequest): Promise<DecommissionPlanDto> {
    const now = this.clock.now();
    const emptied = (slave: StoredSlave): StoredSlave => asDecommissioned(slave, kind, id);
    const { leaving, requests, slaves, due, scene } = await this.db.snapshot(async (tx) => {
      const read = await this.read(tx, kind, id, asked);
      const rules = workRules(this.settings, read.slaves.map(emptied));
      const wanted = read.requests.flatMap((request) => replacements(request, rules, now));
      const ids = [...new Set(wanted.map(({ pendingTaskId }) => pendingTaskId.requestId))];
      return { ...read, due: wanted, scene: ids.length > 0 && (await this.loader.scene(ids, emptied, tx)) };
    });
    const outcomes = scene ? await this.place(leaving, due, scene, now) : [];
    const moves = plannedMoves(requests, outcomes, slaves.length);
    const count = (outcome: PlannedMove['outcome']): number => moves.filter((move) => move.outcome === outcome).length;
    return {
      id,
      fits: count('WAITS') === 0,
      moving: count('MOVES'),
      waiting: count('WAITS'),
      moves: moves.map((move) => toMove(move, `the ${kindText(kind)}`)),
    };
  }

  private async read(tx: Transaction, kind: MachineKind, id: string, asked: MachineChangeRequest) {
    await this.changes.check(tx, kind, id, 'STARTING_DECOMMISSION', asked);
    const leaving = new Set(await this.rows.machineTasks.stayingOn(tx, kind, id));
    const placed = await this.rows.tasks.find(tx, { taskIds: [...leaving] });
    const requestIds = [...new Set(placed.map(({ taskId }) => taskId.requestId))];
    const [stored, pendingDeploys, tasks, slaves] = [
      await this.rows.requests.findMany(tx, requestIds),
      await this.rows.deploys.findPending(tx, requestIds),
      groupBy(await this.rows.tasks.find(tx, { requestIds }), ({ taskId }) => taskId.requestId),
      await this.rows.slaves.list(tx),
    ];
    const pendingOf = new Map(pendingDeploys.map((pending) => [pending.requestId, pending]));
    const requests = stored.map(({ request, state, scheduleSince, activeDeployId }): RequestToMove => {
      const waiting = { request, state, scheduleSince, activeDeployId, pendingDeploy: pendingOf.get(request.id) };
      return { waiting, leaving, tasks: (tasks.get(request.id) ?? []).map(planTaskOf) };
    });
    return { leaving, requests, slaves };
  }

  /** Places what would be pending, of all requests on one fleet that has lost the machine. */
  private async place(
    leaving: ReadonlySet<string>,
    due: readonly PendingTask[],
    { snapshot, rules }: PlacementScene,
    now: number,
  ): Promise<PlacementOutcome[]> {
    const counts = groupBy(due, ({ pendingTaskId }) => pendingTaskId.requestId);
    const views = [...snapshot.requests].map(([id, view]) => {
      const tasks = [...view.tasks].map((task) => (leaving.has(task.taskId.id) ? { ...task, cleaning: true } : task));
      return [id, { ...view, tasks, pendingTasks: counts.get(id)?.length ?? 0 }] as const;
    });
    const outcomes: PlacementOutcome[] = [];
    const scene = { ...snapshot, due, requests: new Map(views) };
    // A plan is not one round: what a machine may get in one round says nothing.
    for (const outcome of placeTasks(scene, { ...rules, maxTasksPerMachine: 0 }, now, 0)) {
      outcomes.push(outcome);
      if (outcomes.length % placementsInOneGo === 0) await nextTurn();
    }
    return outcomes;
  }
}

/** The slaves of a rack keep their own state; how many racks share the tasks depends on those of racks. */
function asDecommissioned(slave: StoredSlave, kind: MachineKind, id: string): StoredSlave {
  const state = 'DECOMMISSIONING';
  if (kind === 'RACK') return slave.rackId === id ? { ...slave, rackState: state } : slave;
  return slave.id === id ? { ...slave, currentState: { ...slave.currentState, state } } : slave;
}

function toMove(move: PlannedMove, machine: string): PlannedMoveDto {
  const { taskId, outcome } = move;
  switch (outcome) {
    case 'MOVES': {
      const { slaveId, hostname: host, rackId } = move.machine;
      return { taskId, outcome, to: { slaveId, host, rackId }, rejections: [], message: `Moves to ${host}` };
    }
    case 'WAITS': {
      const { rejections } = move.explanation;
      const message = `Stays until a slave takes its replacement. ${explanationText(move.explanation)}`;
      return { taskId, outcome, rejections, message };
    }
    case 'RUNS_TO_END':
      return { taskId, outcome, rejections: [], message: `A run that ends on ${machine}: it is not moved` };
    case 'NOT_REPLACED':
      return { taskId, outcome, rejections: [], message: 'Its request wants no task in its place' };
  }
}
