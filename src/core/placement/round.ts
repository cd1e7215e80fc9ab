import type { PendingTask } from '../model/task.js';
import { shapeRejection, spreadRejection, type RejectionReason, type Surroundings } from './checks.js';
import { makeDemand, shapeKey, type Demand, type Shape } from './demand.js';
import type { Fleet } from './fleet.js';
import type { FleetMachine } from './fleet-machine.js';
import { Refusals } from './refusals.js';
import type { PlacementRules, PlacementSnapshot, RequestView } from './snapshot.js';
import { RequestSpread } from './spread.js';

/** A machine that holds an allowed attribute pair counts as this much emptier. */
const preferredFactor = 1.5;

const noAttributes: Readonly<Record<string, string>> = {};

/** The requests of a snapshot while their tasks are placed on a fleet one after the other. */
export class PlacementRound {
  private readonly spreads = new Map<string, RequestSpread>();
  private readonly demands = new Map<string, Demand>();
  private readonly shapes = new Map<string, Shape>();
  private readonly refusals = new Map<Shape, Refusals>();
  private readonly around: Surroundings;

  constructor(
    private readonly fleet: Fleet,
    private readonly snapshot: Pick<PlacementSnapshot, 'deploys'>,
    private readonly rules: PlacementRules,
  ) {
    const attributesOf = (slaveId: string) => fleet.find(slaveId)?.view.attributes ?? noAttributes;
    this.around = { rules, round: fleet.beginRound(), attributesOf };
  }

  spreadOf(view: RequestView): RequestSpread {
    const { id } = view.request;
    const known = this.spreads.get(id);
    if (known) return known;
    const spread = new RequestSpread(view);
    this.spreads.set(id, spread);
    return spread;
  }

  /** `launched` is the request as the task will carry it: that of a pending deploy may differ from the stored one. */
  demandOf(key: string, pending: PendingTask, view: RequestView, launched: RequestView['request']): Demand | undefined {
    const known = this.demands.get(key);
    if (known) return known;
    const deploy = this.snapshot.deploys.get(`${pending.pendingTaskId.requestId}-${pending.pendingTaskId.deployId}`);
    if (!deploy) return undefined;
    const own = makeDemand(pending, launched, deploy, this.spreadOf(view), this.rules);
    const demand = { ...own, shape: this.sharedShape(own.shape) };
    this.demands.set(key, demand);
    return demand;
  }

  private sharedShape(shape: Shape): Shape {
    const key = shapeKey(shape);
    const known = this.shapes.get(key);
    if (known) return known;
    this.shapes.set(key, shape);
    this.refusals.set(shape, new Refusals());
    return shape;
  }

  /** The best machine for the task, or how many machines were refused for which reason. */
  bestMachine(task: Demand): FleetMachine | Map<RejectionReason, number> {
    const { machines } = this.fleet;
    const refusals = this.refusals.get(task.shape)!;
    if (refusals.size === machines.length) return refusals.counts();
    const rejections = new Map<RejectionReason, number>();
    let best: FleetMachine | undefined;
    let bestWorth = Number.NEGATIVE_INFINITY;
    for (const machine of machines) {
      // All that follow are worth no more than this, even where they are preferred.
      if (best && machine.score * preferredFactor < bestWorth) break;
      const reason = this.rejection(task, machine, refusals);
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

  private rejection(task: Demand, machine: FleetMachine, refusals: Refusals): RejectionReason | undefined {
    const known = refusals.of(machine);
    if (known) return known;
    const reason = shapeRejection(task.shape, machine, this.around);
    if (reason) refusals.add(machine, reason);
    return reason ?? spreadRejection(task, machine, this.around);
  }

  private worth({ shape }: Demand, { score, view }: FleetMachine): number {
    const preferred = Object.entries(shape.allowed).some(([name, value]) => view.attributes[name] === value);
    return preferred ? score * preferredFactor : score;
  }

  /** Takes what the task needs from the machine and answers its ports. */
  occupy({ shape }: Demand, machine: FleetMachine, random: () => number): number[] {
    const needsPorts = shape.numPorts > 0 || shape.literalPorts.length > 0;
    const ports = needsPorts ? machine.ports.take(shape.numPorts, shape.literalPorts, random) : [];
    machine.countPlacement(this.around.round);
    this.fleet.take(machine, shape.units);
    return ports;
  }

  /** How many machines cannot take the task, by the first reason against each. */
  allRejections(task: Demand): Map<RejectionReason, number> {
    const refusals = this.refusals.get(task.shape)!;
    const counts = new Map<RejectionReason, number>();
    for (const machine of this.fleet.machines) {
      const reason = this.rejection(task, machine, refusals);
      if (reason) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    return counts;
  }
}
