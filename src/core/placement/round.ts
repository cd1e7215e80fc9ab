import type { PendingTask } from '../model/task.js';
import { firstRejection, type RejectionReason, type Surroundings } from './checks.js';
import { makeDemand, type Demand } from './demand.js';
import { byScore, RoundMachine } from './machine.js';
import type { PlacementRules, PlacementSnapshot, RequestView } from './snapshot.js';
import { RequestSpread } from './spread.js';

/** A machine that holds an allowed attribute pair counts as this much emptier. */
const preferredFactor = 1.5;

const noAttributes: Readonly<Record<string, string>> = {};

/** The machines and requests of a snapshot while tasks are placed on them one after the other. */
export class PlacementRound {
  /** Kept sorted, so that the first machine that fits is the best one. */
  private readonly order: RoundMachine[];
  private readonly byId: ReadonlyMap<string, RoundMachine>;
  private readonly spreads = new Map<string, RequestSpread>();
  private readonly demands = new Map<string, Demand>();
  private readonly around: Surroundings;

  constructor(
    private readonly snapshot: PlacementSnapshot,
    private readonly rules: PlacementRules,
  ) {
    this.order = snapshot.machines.map((view) => new RoundMachine(view, rules)).sort(byScore);
    this.byId = new Map(this.order.map((machine) => [machine.view.slaveId, machine]));
    const attributesOf = (slaveId: string) => this.byId.get(slaveId)?.view.attributes ?? noAttributes;
    this.around = { rules, attributesOf };
  }

  spreadOf(view: RequestView): RequestSpread {
    const { id } = view.request;
    const spread = this.spreads.get(id) ?? new RequestSpread(view);
    this.spreads.set(id, spread);
    return spread;
  }

  /** `launched` is the request as the task will carry it: that of a pending deploy may differ from the stored one. */
  demandOf(key: string, pending: PendingTask, view: RequestView, launched: RequestView['request']): Demand | undefined {
    const known = this.demands.get(key);
    if (known) return known;
    const deploy = this.snapshot.deploys.get(`${pending.pendingTaskId.requestId}-${pending.pendingTaskId.deployId}`);
    if (!deploy) return undefined;
    const demand = makeDemand(pending, launched, deploy, this.spreadOf(view), this.rules);
    this.demands.set(key, demand);
    return demand;
  }

  /** The best machine for the task, or how many machines were refused for which reason. */
  bestMachine(task: Demand): RoundMachine | Map<RejectionReason, number> {
    const rejections = new Map<RejectionReason, number>();
    let best: RoundMachine | undefined;
    let bestWorth = Number.NEGATIVE_INFINITY;
    for (const machine of this.order) {
      // All that follow are worth no more than this, even where they are preferred.
      if (best && machine.score * preferredFactor < bestWorth) break;
      const reason = firstRejection(task, machine, this.around);
      if (reason) {
        rejections.set(reason, (rejections.get(reason) ?? 0) + 1);
        continue;
      }
      if (!task.prefers) return machine;
      const worth = this.worth(task, machine);
      if (worth > bestWorth || (worth === bestWorth && best && machine.view.slaveId < best.view.slaveId)) {
        best = machine;
        bestWorth = worth;
      }
    }
    return best ?? rejections;
  }

  private worth(task: Demand, { score, view }: RoundMachine): number {
    const preferred = Object.entries(task.allowed).some(([name, value]) => view.attributes[name] === value);
    return preferred ? score * preferredFactor : score;
  }

  /** Takes what the task needs from the machine and answers its ports. */
  occupy(task: Demand, machine: RoundMachine, random: () => number): number[] {
    const needsPorts = task.numPorts > 0 || task.literalPorts.length > 0;
    const ports = needsPorts ? machine.ports.take(task.numPorts, task.literalPorts, random) : [];
    this.order.splice(this.positionOf(machine), 1);
    machine.subtract(task.units);
    this.order.splice(this.positionOf(machine), 0, machine);
    return ports;
  }

  /** Where the machine stands in the order, or would have to stand. */
  private positionOf(machine: RoundMachine): number {
    let low = 0;
    let high = this.order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.order[middle]!;
      if (other !== machine && byScore(other, machine) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** For each machine, by id: the reason against it, undefined where the task could go now. */
  everyRejection(task: Demand): { slaveId: string; reason: RejectionReason | undefined }[] {
    return [...this.byId.values()]
      .map((machine) => ({ slaveId: machine.view.slaveId, reason: firstRejection(task, machine, this.around) }))
      .sort((a, b) => (a.slaveId < b.slaveId ? -1 : 1));
  }
}
