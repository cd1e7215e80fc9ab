import fc from 'fast-check';
import type { Faults } from '../../support/simulated-cluster/script.js';
import type { RequestType, TaskState } from '../../../src/core/model/enums.js';
import { anyDeploy, anyRequest, type DeployPlan, type RequestPlan } from './plan.js';

/** A number that points at one of those that are there at its moment: the remainder by their count. */
export type Which = number;

/** Orders of people. */
export type Order =
  | { do: 'create'; plan: RequestPlan }
  | { do: 'deploy'; request: Which; plan: DeployPlan }
  | { do: 'cancelDeploy'; request: Which }
  | { do: 'scale'; request: Which; instances: number }
  | { do: 'pause'; request: Which; killTasks: boolean }
  | { do: 'unpause'; request: Which }
  | { do: 'bounce'; request: Which; incremental: boolean }
  | { do: 'run'; request: Which }
  | { do: 'delete'; request: Which }
  | { do: 'exitCooldown'; request: Which }
  | { do: 'kill'; task: Which; how: 'PLAIN' | 'REPLACED' | 'AT_ONCE' }
  | { do: 'machine'; machine: Which; to: 'FROZEN' | 'ACTIVE' | 'STARTING_DECOMMISSION' };

/** Passes of the leader. */
export type LeaderPass =
  'all' | 'drain' | 'decide' | 'write' | 'dispatch' | 'deploys' | 'cleanup' | 'cooldown' | 'machines' | 'reconcile';

/** Misfortunes. */
export type Misfortune =
  | { do: 'crash'; unsent: boolean }
  | { do: 'overtake' }
  | { do: 'formerGoesOn' }
  | { do: 'unreachable'; machine: Which }
  | { do: 'reachable' }
  | { do: 'giveUp'; machine: Which }
  | { do: 'slow'; machine: Which; millis: number }
  | { do: 'newFolder'; machine: Which }
  | { do: 'vanish'; machine: Which }
  | { do: 'return' }
  | { do: 'attributes'; machine: Which; attributes: Record<string, string> }
  | { do: 'end'; task: Which; state: TaskState }
  | { do: 'faults'; faults: Faults };

export type Step =
  | Order
  | Misfortune
  | { do: 'pass'; pass: LeaderPass }
  | { do: 'wait'; millis: number }
  /** Passes once a second. */
  | { do: 'live'; seconds: number }
  /** A caller's order, after the leader has decided and before it writes what it decided. */
  | { do: 'between'; order: Order };

const which = fc.nat({ max: 11 });
const chance = fc.constantFrom(0, 0, 0.3, 0.8);

const anyFaults: fc.Arbitrary<Faults> = fc.record({
  loseLaunch: chance,
  delayLaunch: chance,
  doubleLaunch: chance,
  launchDelayMillis: fc.constantFrom(1_500, 8_000, 90_000),
  loseLaunchAnswer: chance,
  loseKill: chance,
  delayKill: chance,
  loseUpdates: chance,
  delayUpdates: chance,
  updateDelayMillis: fc.constantFrom(700, 20_000),
  duplicateUpdates: chance,
  reorderUpdates: chance,
});

const orders = (types: readonly RequestType[]): fc.Arbitrary<Order> =>
  fc.oneof(
    fc.record({ do: fc.constant('create' as const), plan: anyRequest(types) }),
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(...types)
        .chain((type) => fc.record({ do: fc.constant('deploy' as const), request: which, plan: anyDeploy(type) })),
    },
    fc.record({ do: fc.constant('cancelDeploy' as const), request: which }),
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('scale' as const),
        request: which,
        instances: fc.integer({ min: 1, max: 4 }),
      }),
    },
    fc.record({ do: fc.constant('pause' as const), request: which, killTasks: fc.boolean() }),
    { weight: 2, arbitrary: fc.record({ do: fc.constant('unpause' as const), request: which }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('bounce' as const), request: which, incremental: fc.boolean() }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('run' as const), request: which }) },
    fc.record({ do: fc.constant('delete' as const), request: which }),
    fc.record({ do: fc.constant('exitCooldown' as const), request: which }),
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('kill' as const),
        task: which,
        how: fc.constantFrom('PLAIN' as const, 'REPLACED' as const, 'AT_ONCE' as const),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('machine' as const),
        machine: which,
        to: fc.constantFrom('FROZEN' as const, 'ACTIVE' as const, 'STARTING_DECOMMISSION' as const),
      }),
    },
  );

/** Agents are silent for so long that their tasks are given up; only some worlds know it. */
const silence: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('giveUp' as const), machine: which }),
  fc.constant({ do: 'reachable' as const }),
);

const misfortunes: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('crash' as const), unsent: fc.boolean() }),
  fc.record({ do: fc.constant('overtake' as const) }),
  fc.record({ do: fc.constant('formerGoesOn' as const) }),
  fc.record({ do: fc.constant('unreachable' as const), machine: which }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reachable' as const) }) },
  fc.record({ do: fc.constant('slow' as const), machine: which, millis: fc.constantFrom(0, 1_200, 15_000) }),
  fc.record({ do: fc.constant('newFolder' as const), machine: which }),
  fc.record({ do: fc.constant('vanish' as const), machine: which }),
  fc.record({ do: fc.constant('return' as const) }),
  fc.record({
    do: fc.constant('attributes' as const),
    machine: which,
    attributes: fc.constantFrom<Record<string, string>[]>({}, { zone: 'east' }, { reserved: 'yes' }),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      task: which,
      state: fc.constantFrom<TaskState[]>('TASK_FAILED', 'TASK_FINISHED', 'TASK_LOST'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('faults' as const), faults: anyFaults }) },
);

const passes: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ do: 'pass' as const, pass: 'all' as const }) },
  fc.record({
    do: fc.constant('pass' as const),
    pass: fc.constantFrom<LeaderPass[]>(
      'drain',
      'decide',
      'write',
      'dispatch',
      'deploys',
      'cleanup',
      'cooldown',
      'machines',
      'reconcile',
    ),
  }),
);

const spans: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('live' as const),
  seconds: fc.integer({ min: 1, max: 6 }),
});

const waits: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('wait' as const),
  millis: fc.constantFrom(3, 100, 1_000, 1_000, 5_000, 30_000, 70_000),
});

/** One thing after the other, as it comes: orders of people, passes of the leader, time and misfortune. */
export const anySteps = (
  types: readonly RequestType[],
  length: number,
  { silent = false }: { silent?: boolean } = {},
): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: orders(types) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('between' as const), order: orders(types) }) },
      { weight: 4, arbitrary: misfortunes },
      { weight: silent ? 4 : 0, arbitrary: silence },
      { weight: 5, arbitrary: passes },
      { weight: 3, arbitrary: waits },
      { weight: 4, arbitrary: spans },
    ),
    { minLength: 3, maxLength: length, size: 'max' },
  );
