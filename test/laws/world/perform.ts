import type { Deploy } from '../../../src/core/model/deploy.js';
import { isLongRunning } from '../../../src/core/model/enums.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import type { TaskScript } from '../../support/simulated-cluster/script.js';
import type { SimulatedClusterOptions } from '../../support/simulated-cluster/simulated-cluster.js';
import type { Behaviour, DeployPlan, RequestPlan, WorldPlan } from './plan.js';
import type { Step, Which } from './steps.js';
import type { Answer, Sight, World } from './world.js';

/** Noon of a Monday, UTC. */
export const startAt = Date.UTC(2026, 0, 5, 12);

export const clusterOptions = (plan: WorldPlan): SimulatedClusterOptions => ({ seed: plan.seed, startAt, machines: 0 });

/** A takeover takes time: within the same millisecond a new leader could make a task id again. */
export const takeOverMillis = 2;

/** Runs that a caller asked for and was promised. */
export interface Promised {
  requestId: string;
  runId: string;
}

/** Carries the steps of a schedule out, one after the other, in whatever world it is given. */
export class Performer {
  private named = 0;
  private calm = false;
  private readonly longRunning = new Set<string>();
  readonly promised: Promised[] = [];

  constructor(
    private readonly world: World,
    private readonly plan: WorldPlan,
  ) {
    world.cluster.onLaunch((spec) => this.behave(spec));
  }

  /** Machines and first requests. */
  async begin(): Promise<void> {
    const { cluster } = this.world;
    this.plan.machines.forEach((machine, index) => {
      cluster.addMachine({
        slaveId: `slave-${index + 1}`,
        hostname: `host-${index + 1}`,
        rackId: machine.rackId,
        attributes: machine.attributes,
        cpus: machine.cpus,
        memoryMb: machine.memoryMb,
        portRanges: machine.ports > 0 ? [{ begin: 31_000, end: 31_000 + machine.ports - 1 }] : [],
      });
    });
    await cluster.advance(1);
    for (const plan of this.plan.requests) await this.create(plan);
    await this.liveFor(this.plan.quietSeconds);
  }

  async take(step: Step, sight: Sight): Promise<void> {
    const { world } = this;
    const { cluster, operators } = world;
    switch (step.do) {
      case 'pass':
        return world.pass(step.pass);
      case 'wait':
        return cluster.advance(step.millis);
      case 'live':
        return this.liveFor(step.seconds);
      case 'between':
        return world.between(() => this.take(step.order, sight));
      case 'create':
        return void (await this.create(step.plan));
      case 'deploy':
        return this.onRequest(step.request, sight, (id) => operators.deploy(this.newDeploy(id, step.plan)));
      case 'cancelDeploy':
        return this.onRequest(step.request, sight, (id) => operators.cancelDeploy(id));
      case 'scale':
        return this.onRequest(step.request, sight, (id) => operators.scale(id, step.instances));
      case 'pause':
        return this.onRequest(step.request, sight, (id) => operators.pause(id, step.killTasks));
      case 'unpause':
        return this.onRequest(step.request, sight, (id) => operators.unpause(id));
      case 'bounce':
        return this.onRequest(step.request, sight, (id) => operators.bounce(id, step.incremental));
      case 'delete':
        return this.onRequest(step.request, sight, (id) => operators.delete(id));
      case 'exitCooldown':
        return this.onRequest(step.request, sight, (id) => operators.exitCooldown(id));
      case 'run':
        return this.onRequest(step.request, sight, (id) => this.run(id));
      case 'kill': {
        const task = pick(
          [...sight.tasks.values()].filter(({ endedAt }) => endedAt === undefined),
          step.task,
        );
        if (task) await operators.kill(task.taskId.id, step.how);
        return;
      }
      case 'machine': {
        const machine = pick([...sight.machines.keys()].toSorted(), step.machine);
        if (machine) await operators.changeMachine(machine, step.to);
        return;
      }
      case 'crash':
        return world.crash(step.unsent);
      case 'overtake':
        return world.overtake();
      case 'formerGoesOn':
        return world.formerGoesOn();
      case 'unreachable':
        return this.onMachine(step.machine, (id) => cluster.setReachable(id, false));
      case 'reachable':
        for (const id of this.world.cluster.machineIds) cluster.setReachable(id, true);
        return;
      case 'giveUp':
        return this.onMachine(step.machine, async (id) => {
          cluster.setReachable(id, false);
          await world.giveUp!(id);
        });
      case 'slow':
        return this.onMachine(step.machine, (id) => cluster.setLatency(id, step.millis));
      case 'newFolder':
        return this.onMachine(step.machine, (id) => cluster.reincarnate(id));
      case 'vanish':
        return this.onMachine(step.machine, (id) => cluster.removeMachine(id));
      case 'return':
        for (const id of cluster.vanishedIds) cluster.restoreMachine(id);
        return;
      case 'attributes':
        return this.onMachine(step.machine, (id) => cluster.changeMachine(id, { attributes: step.attributes }));
      case 'end': {
        const spec = pick(cluster.runningTasks(), step.task);
        if (spec) cluster.finish(spec.taskId, step.state);
        return;
      }
      case 'faults':
        cluster.faults = step.faults;
        return;
    }
  }

  /** Nothing goes wrong any more; machines are back, and there are enough of them for everything. */
  async calmDown(sight: Sight): Promise<void> {
    const { cluster, operators } = this.world;
    this.calm = true;
    cluster.faults = {};
    await this.world.formerGoesOn();
    for (const id of cluster.vanishedIds) cluster.restoreMachine(id);
    for (const id of this.world.cluster.machineIds) {
      cluster.setLatency(id, 0);
      cluster.setReachable(id, true);
    }
    // As many as the largest request needs twice, on each rack, and good for requests that ask for an attribute.
    for (const rackId of ['rack-a', 'rack-b']) {
      for (const number of [1, 2, 3, 4, 5, 6, 7, 8]) {
        const slaveId = `spare-${rackId}-${number}`;
        cluster.addMachine({ slaveId, hostname: slaveId, rackId, attributes: { zone: 'east' } });
      }
    }
    await cluster.advance(1);
    for (const { slaveId, state } of sight.machines.values()) {
      if (state !== 'ACTIVE') await operators.changeMachine(slaveId, 'ACTIVE');
    }
  }

  private behave({ command, ports, requestId }: LaunchSpec): TaskScript {
    const behaviour = command.value as Behaviour;
    const lasts: TaskScript = this.longRunning.has(requestId) ? {} : { runFor: 300 };
    if (this.calm) return lasts;
    switch (behaviour) {
      case 'run for ever':
        return lasts;
      case 'find a port taken':
        return ports.length > 0 && this.world.cluster.random.happens(0.5) ? { portInUse: ports[0] } : { runFor: 2_000 };
      case 'be refused':
        return this.world.cluster.random.happens(0.5) ? { refuse: 'not this one' } : lasts;
      default: {
        const [word, millis] = behaviour.split(' after ') as ['end' | 'fail', string];
        return { runFor: Number.parseInt(millis, 10), exit: word === 'fail' ? 'TASK_FAILED' : 'TASK_FINISHED' };
      }
    }
  }

  private async liveFor(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.world.pass('all');
      await this.world.cluster.advance(1_000);
    }
  }

  private async create({ request, deploy }: RequestPlan): Promise<void> {
    const id = `r${++this.named}`;
    if (isLongRunning(request.requestType)) this.longRunning.add(id);
    await this.world.operators.create({ ...request, id }, this.newDeploy(id, deploy));
  }

  private newDeploy(requestId: string, plan: DeployPlan): Deploy {
    return {
      requestId,
      id: `d${++this.named}`,
      command: plan.behaviour,
      resources: { cpus: plan.cpus, memoryMb: plan.memoryMb, diskMb: 0, numPorts: plan.numPorts },
      ...(plan.perStep !== undefined && {
        deployInstanceCountPerStep: Math.min(plan.perStep, plan.oldFirst ?? plan.perStep),
      }),
      ...(plan.oldFirst !== undefined && { deployStrategy: 'OLD_FIRST', maxUnavailable: plan.oldFirst }),
      ...(plan.maxTaskRetries !== undefined && { maxTaskRetries: plan.maxTaskRetries }),
    };
  }

  private async run(requestId: string): Promise<Answer> {
    const runId = `run-${++this.named}`;
    const answer = await this.world.operators.run(requestId, runId);
    if (answer === 'DONE') this.promised.push({ requestId, runId });
    return answer;
  }

  private async onRequest(which: Which, sight: Sight, act: (id: string) => Promise<Answer>): Promise<void> {
    const id = pick([...sight.requests.keys()].toSorted(), which);
    if (id !== undefined) await act(id);
  }

  private async onMachine(which: Which, act: (id: string) => void | Promise<void>): Promise<void> {
    const id = pick(this.world.cluster.machineIds, which);
    if (id !== undefined) await act(id);
  }
}

const pick = <T>(from: readonly T[], which: Which): T | undefined => from[which % from.length];
