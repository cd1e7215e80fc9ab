import { deployKeyText } from '../model/deploy.js';
import type { PendingTask } from '../model/task.js';
import { type RejectionReason, shapeRejection, spreadRejection, type PlacementContext } from './checks.js';
import { RequestSpread } from './request-spread.js';
import { type Demand, makeDemand, type DemandShape, shapeKey } from './demand.js';
import type { Fleet, FleetMachine } from './fleet.js';
import { type Shortages, shortagesOf } from './shortages.js';
import type { PlacementRules, PlacementSnapshot, RequestView } from './snapshot.js';
import { isPreferred, type PreferenceRules } from '../usage/index.js';

/** Default by which a preferred machine counts as emptier. */
const defaultPreference: PreferenceRules = { highCpuCutOff: 1.5, highMemoryCutOff: 0.5, scaleFactor: 1.5 };

const noAttributes: Readonly<Record<string, string>> = {};

/** The requests of a snapshot while their tasks are placed on a fleet one after the other. */
export class PlacementRound {
  private readonly spreads = new Map<string, RequestSpread>();
  private readonly demands = new Map<string, Demand>();
  private readonly shapes = new Map<string, DemandShape>();
  private readonly refusals = new Map<DemandShape, Refusals>();
  private readonly context: PlacementContext;
  private readonly preference: PreferenceRules;

  constructor(
    private readonly fleet: Fleet,
    private readonly snapshot: Pick<PlacementSnapshot, 'deploys'>,
    private readonly rules: PlacementRules,
  ) {
    this.preference = rules.preference ?? defaultPreference;
    const attributesOf = (slaveId: string) => fleet.find(slaveId)?.view.attributes ?? noAttributes;
    this.context = { rules, round: fleet.beginRound(), attributesOf };
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
    const deploy = this.snapshot.deploys.get(deployKeyText(pending.pendingTaskId));
    if (!deploy) return undefined;
    const own = makeDemand(pending, launched, deploy, this.spreadOf(view), this.rules, view.utilization);
    const demand = { ...own, shape: this.sharedShape(own.shape) };
    this.demands.set(key, demand);
    return demand;
  }

  private sharedShape(shape: DemandShape): DemandShape {
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
    for (const machine of machines) {
      // All that follow are worth less, even where they are preferred.
      if (best && machine.score * this.preference.scaleFactor <= best.score) break;
      const reason = this.rejection(task, machine, refusals);
      if (reason) {
        rejections.set(reason, (rejections.get(reason) ?? 0) + 1);
        continue;
      }
      if (!task.prefers || this.isPreferred(task, machine)) return machine;
      best ??= machine;
    }
    return best ?? rejections;
  }

  private rejection(task: Demand, machine: FleetMachine, refusals: Refusals): RejectionReason | undefined {
    const known = refusals.of(machine);
    if (known) return known;
    const reason = shapeRejection(task.shape, machine, this.context);
    if (reason) refusals.add(machine, reason);
    return reason ?? spreadRejection(task, machine, this.context);
  }

  /** Machines come in the order of their scores: the first preferred one is the best of its kind. */
  private isPreferred({ shape, bias }: Demand, { view, free }: FleetMachine): boolean {
    const machine = { attributes: view.attributes, freeCpus: free.cpus / 1_000, freeMemoryMb: free.memory / 1_000 };
    return isPreferred({ allowed: shape.allowed, bias }, machine, this.preference);
  }

  /** Takes what the task needs from the machine and answers its ports. */
  occupy({ shape, expected }: Demand, machine: FleetMachine, random: () => number): number[] {
    const needsPorts = shape.numPorts > 0 || shape.literalPorts.length > 0;
    const ports = needsPorts ? machine.ports.take(shape.numPorts, shape.literalPorts, random) : [];
    machine.countPlacement(this.context.round);
    this.fleet.take(machine, shape.units, expected);
    return ports;
  }

  /** Resources missing on the machines that were too small. Call after they were refused. */
  shortages(task: Demand): Shortages {
    return shortagesOf(task, this.refusals.get(task.shape)!.all());
  }

  /** Numbers of machines that cannot take the task, by the first reason against each. */
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

/** Machines that a shape cannot use any more in this round, and why: a round only fills machines. */
class Refusals {
  private readonly reasons = new Map<FleetMachine, RejectionReason>();

  get size(): number {
    return this.reasons.size;
  }

  all(): Iterable<readonly [FleetMachine, RejectionReason]> {
    return this.reasons;
  }

  of(machine: FleetMachine): RejectionReason | undefined {
    return this.reasons.get(machine);
  }

  add(machine: FleetMachine, reason: RejectionReason): void {
    this.reasons.set(machine, reason);
  }

  /** Numbers of machines for each reason. */
  counts(): Map<RejectionReason, number> {
    const counts = new Map<RejectionReason, number>();
    for (const reason of this.reasons.values()) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    return counts;
  }
}
