import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { testSettings } from '../../test/support/test-app.js';
import type { Faults } from '../cluster/simulated/script.js';

/*
 * Whatever happens on the way, in the end exactly the wanted tasks run, each once, and rows and machines agree.
 */

type Step =
  | { kind: 'run'; seconds: number }
  | { kind: 'kill'; which: number }
  | { kind: 'die'; which: number }
  | { kind: 'newAgentFolder'; which: number }
  | { kind: 'unreachable'; which: number }
  | { kind: 'reachable' }
  | { kind: 'crash' }
  | { kind: 'scale'; instances: number }
  | { kind: 'redeploy' }
  | { kind: 'faults'; faults: Faults };

const machines = 3;
const which = fc.nat({ max: 20 });
const chance = fc.constantFrom(0, 0.3);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('run' as const), seconds: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('kill' as const), which }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('die' as const), which }) },
  fc.record({ kind: fc.constant('newAgentFolder' as const), which }),
  fc.record({ kind: fc.constant('unreachable' as const), which }),
  fc.record({ kind: fc.constant('reachable' as const) }),
  fc.record({ kind: fc.constant('crash' as const) }),
  fc.record({ kind: fc.constant('scale' as const), instances: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ kind: fc.constant('redeploy' as const) }),
  fc.record({
    kind: fc.constant('faults' as const),
    faults: fc.record({
      loseLaunch: chance,
      delayLaunch: chance,
      launchDelayMillis: fc.constantFrom(1_500, 8_000),
      loseLaunchAnswer: chance,
      loseKill: chance,
      loseUpdates: chance,
      duplicateUpdates: chance,
      reorderUpdates: chance,
    }),
  }),
);

class Script {
  private instances = 3;
  private deployNo = 1;
  /** When each task really began on its machine, by virtual time. */
  private readonly startedAt = new Map<string, number>();

  constructor(private readonly world: SchedulerWorld) {}

  async begin(): Promise<void> {
    this.world.cluster.onLaunch((spec) => {
      this.startedAt.set(spec.taskId, this.world.now);
      return {};
    });
    await this.world.deployed({ id: 'svc', requestType: 'SERVICE', instances: this.instances });
  }

  async take(step: Step): Promise<void> {
    const { world } = this;
    const { cluster } = world;
    switch (step.kind) {
      case 'run':
        for (let second = 0; second < step.seconds; second++) {
          await world.killCleaned();
          await world.run();
        }
        return;
      case 'kill': {
        const tasks = await world.active('svc');
        if (tasks.length > 0) await world.kill(tasks[step.which % tasks.length]!.taskId.id);
        return world.enqueue({ requestId: 'svc', deployId: `d${this.deployNo}`, pendingType: 'TASK_BOUNCE' });
      }
      case 'die': {
        const tasks = cluster.runningTasks();
        if (tasks.length > 0) cluster.finish(tasks[step.which % tasks.length]!.taskId, 'TASK_FAILED');
        return;
      }
      case 'newAgentFolder':
        return cluster.reincarnate(this.slave(step.which));
      case 'unreachable':
        return cluster.setReachable(this.slave(step.which), false);
      case 'reachable':
        for (let number = 1; number <= machines; number++) cluster.setReachable(`slave-${number}`, true);
        return;
      case 'crash':
        return world.crash();
      case 'scale':
        this.instances = step.instances;
        await world.changeRequest('svc', { instances: step.instances });
        return world.enqueue({ requestId: 'svc', deployId: `d${this.deployNo}`, pendingType: 'UPDATED_REQUEST' });
      case 'redeploy':
        return this.redeploy();
      case 'faults':
        cluster.faults = step.faults;
        return;
    }
  }

  /** In one step: the new deploy is active, the tasks of the old one have to go. */
  private async redeploy(): Promise<void> {
    const { world } = this;
    const deployId = `d${++this.deployNo}`;
    const old = await world.active('svc');
    await world.query(
      `INSERT INTO deploy_history (request_id, deploy_id, created_at, data)
       SELECT request_id, $1, created_at, jsonb_set(data, '{deploy,id}', to_jsonb($1::text)) FROM deploy_history WHERE deploy_id = 'd1'`,
      [deployId],
    );
    await world.query(`UPDATE request SET active_deploy_id = $1, version = version + 1`, [deployId]);
    for (const task of old) await world.kill(task.taskId.id);
    await world.enqueue({ requestId: 'svc', deployId, pendingType: 'STARTUP' });
  }

  private slave(which: number): string {
    return `slave-${1 + (which % machines)}`;
  }

  /** The storm is over. */
  async end(): Promise<void> {
    this.world.cluster.faults = {};
    await this.take({ kind: 'reachable' });
    await this.take({ kind: 'run', seconds: 15 });
    await this.world.crash();
    await this.take({ kind: 'run', seconds: 5 });
  }

  /** Must be empty at every moment: a task is given up only when nothing of it runs and nothing can start any more. */
  async givenUpButRunning(): Promise<string[]> {
    const active = new Set((await this.world.active()).map((task) => task.taskId.id));
    const running = this.world.cluster.runningTasks().map((spec) => spec.taskId);
    return running.filter((taskId) => !active.has(taskId));
  }

  /** What is wrong in the end; every member must be empty. */
  async wrongInTheEnd(): Promise<Record<string, unknown[]>> {
    const { world } = this;
    const active = await world.active('svc');
    const ids = new Set(active.map((task) => task.taskId.id));
    const running = new Set(world.cluster.runningTasks().map((spec) => spec.taskId));
    const wanted = Array.from({ length: this.instances }, (_, index) => index);
    const ended = await world.query<{ task_id: string; at: number }>(
      `SELECT task_id, (data->'taskUpdates'->-1->>'timestamp')::bigint AS at FROM task_history`,
    );
    const left = ['pending_request', 'pending_task', 'killed_task', 'task_cleanup'].map((table) =>
      world.query(`SELECT * FROM ${table}`),
    );
    return {
      tooManyOrFew: active.length === this.instances ? [] : [active.length, this.instances],
      withoutNumber: wanted.slice(new Set(active.map((task) => task.taskId.instanceNo)).size),
      notRunning: active.filter((task) => task.state !== 'TASK_RUNNING'),
      ofOldDeploys: active.filter((task) => task.taskId.deployId !== `d${this.deployNo}`),
      unknownToMachines: [...ids].filter((id) => !running.has(id)),
      unknownToUs: [...running].filter((id) => !ids.has(id)),
      startedTwice: [...world.cluster.starts].filter(([, times]) => times > 1),
      // What was declared over never starts any more, however late its launch arrives.
      revived: ended.filter(({ task_id, at }) => (this.startedAt.get(task_id) ?? 0) > at),
      endedButNotHistory: await world.query('SELECT task_id FROM task WHERE ended_at IS NOT NULL'),
      left: (await Promise.all(left)).flat(),
    };
  }
}

const nothing = {
  tooManyOrFew: [],
  withoutNumber: [],
  notRunning: [],
  ofOldDeploys: [],
  unknownToMachines: [],
  unknownToUs: [],
  startedTwice: [],
  revived: [],
  endedButNotHistory: [],
  left: [],
};

test('after any storm exactly the wanted tasks run', { timeout: 180_000 }, () =>
  fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 25 }), fc.nat(), async (steps, seed) => {
      const world = await SchedulerWorld.start({
        seed,
        machines,
        settings: {
          crashLoop: { ...testSettings().crashLoop, cooldownFailureThreshold: 0 },
          startNewReconcileEverySeconds: 1,
        },
      });
      try {
        const script = new Script(world);
        await script.begin();
        for (const step of steps) {
          await script.take(step);
          expect(await script.givenUpButRunning()).toEqual([]);
        }
        await script.end();
        expect(await script.wrongInTheEnd()).toEqual(nothing);
      } finally {
        await world.close();
      }
    }),
    { numRuns: 15, interruptAfterTimeLimit: 25_000 },
  ),
);
