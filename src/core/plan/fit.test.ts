import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { machine, now, pendingTask, placed, rules } from '../../../test/support/placement-scene.js';
import type { Deploy } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import type { MachineView, PlacementRules } from '../placement/index.js';
import { fitSteps, type FittingScene, type TaskOnMachine } from './fit.js';

/** A task of v1 that takes one of the four cores of its machine. */
const old = (slaveId: string, instanceNo: number, ports: number[] = []): TaskOnMachine => ({
  ...placed(slaveId, instanceNo, { deployId: 'v1' }),
  cpus: 1,
  memoryMb: 64,
  diskMb: 0,
  ports,
});
const busy = (slaveId: string, tasks: number, own: Partial<MachineView> = {}): MachineView =>
  machine(slaveId, { used: { cpus: tasks, memoryMb: tasks * 64, diskMb: 0 }, ...own });

interface Case {
  name: string;
  request?: Partial<Request>;
  deploy?: Partial<Deploy>;
  machines: MachineView[];
  tasks?: TaskOnMachine[];
  /** Instance numbers that start, and old tasks that go. */
  steps: { start: number[]; stop?: TaskOnMachine[] }[];
  rules?: Partial<PlacementRules>;
}

const step = ({ start, stop = [] }: Case['steps'][number]) => ({
  start: start.map((instanceNo) => pendingTask(instanceNo, { deployId: 'v2' })),
  stop,
});

function fit({ request, deploy, machines, tasks = [], steps, rules: own }: Case) {
  const scene: FittingScene = {
    request: {
      request: { id: 'svc', requestType: 'SERVICE', instances: 3, ...request },
      state: 'ACTIVE',
      activeDeployId: 'v1',
      pendingDeploy: { deployId: 'v2' },
    },
    tasks,
    deploys: new Map([['svc-v2', { deploy: { requestId: 'svc', id: 'v2', command: 'run', ...deploy } }]]),
    machines,
  };
  return [...fitSteps(steps.map(step), scene, rules(own), now)];
}

const tasks = [old('a', 1), old('a', 2), old('a', 3)];

describe('room for the steps of a plan', () => {
  test.each<Case & { fits: string[]; why: object }>([
    { name: 'all fit', machines: [machine('a')], steps: [{ start: [1, 2, 3] }], fits: ['3 of 3'], why: {} },
    {
      name: 'some do not fit, for the reasons of each machine',
      machines: [busy('a', 2), machine('b', { state: 'FROZEN' })],
      steps: [{ start: [1, 2, 3] }],
      fits: ['2 of 3'],
      why: {
        reason: 'NO_MATCHING_SLAVE',
        slaves: 2,
        rejections: [
          expect.objectContaining({ reason: 'NOT_ENOUGH_CPUS', slaves: 1 }),
          { reason: 'SLAVE_FROZEN', slaves: 1 },
        ],
      },
    },
    {
      name: 'old tasks keep their room until their step is over',
      machines: [busy('a', 3)],
      tasks,
      steps: [{ start: [1, 2, 3], stop: tasks }],
      fits: ['1 of 3'],
      why: {
        reason: 'NO_MATCHING_SLAVE',
        rejections: [expect.objectContaining({ reason: 'NOT_ENOUGH_CPUS', slaves: 1 })],
      },
    },
    {
      name: 'what goes in one step makes room for the next',
      machines: [busy('a', 3)],
      tasks,
      steps: [1, 2, 3].map((number) => ({ start: [number], stop: [tasks[number - 1]!] })),
      fits: ['1 of 1', '1 of 1', '1 of 1'],
      why: {},
    },
    {
      name: 'the ports of what goes, too',
      deploy: { resources: { cpus: 0.1, memoryMb: 1, numPorts: 1 } },
      machines: [machine('a', { portRanges: [{ begin: 31_000, end: 31_001 }], usedPorts: [31_000] })],
      tasks: [old('a', 1, [31_000])],
      steps: [{ start: [1], stop: [old('a', 1)] }, { start: [2] }, { start: [3] }],
      fits: ['1 of 1', '1 of 1', '0 of 1'],
      why: { rejections: [expect.objectContaining({ reason: 'NOT_ENOUGH_PORTS', slaves: 1 })] },
    },
    {
      name: 'tasks of the plan keep apart from each other',
      request: { slavePlacement: 'SEPARATE_BY_DEPLOY' },
      machines: [machine('a'), machine('b')],
      steps: [{ start: [1] }, { start: [2, 3] }],
      fits: ['1 of 1', '1 of 2'],
      why: { rejections: [{ reason: 'SLAVE_SATURATED', slaves: 2 }] },
    },
    {
      name: 'how many tasks a machine gets in one round says nothing of a plan',
      machines: [machine('a')],
      steps: [{ start: [1, 2, 3] }],
      rules: { maxTasksPerMachine: 1 },
      fits: ['3 of 3'],
      why: {},
    },
    {
      name: 'nothing fits while placing is switched off',
      machines: [machine('a')],
      steps: [{ start: [1] }],
      rules: { disabled: true },
      fits: ['0 of 1'],
      why: { reason: 'PLACEMENT_DISABLED' },
    },
    { name: 'no machines', machines: [], steps: [{ start: [1] }], fits: ['0 of 1'], why: { slaves: 0 } },
    { name: 'nothing starts', machines: [], steps: [{ start: [] }], fits: ['0 of 0'], why: {} },
  ])('$name', ({ fits, why, ...given }) => {
    const found = fit(given);
    expect(found.map(({ fitting, tasks: wanted }) => `${fitting} of ${wanted}`)).toEqual(fits);
    expect(found.at(-1)!.explanation).toMatchObject({ reason: expect.any(String), ...why });
    const all = found.every(({ fitting, tasks: wanted }) => fitting === wanted);
    expect(found.every(({ explanation }) => explanation.reason === 'PLACEABLE')).toBe(all);
  });
});

test('steps that replace what they start need no more room in all than the largest of them', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), (instances, perStep) => {
      const all = Array.from({ length: instances }, (_, index) => old('a', index + 1));
      const steps: Case['steps'] = [];
      for (let first = 0; first < instances; first += perStep) {
        const stop = all.slice(first, first + perStep);
        steps.push({ start: stop.map((_, index) => first + index + 1), stop });
      }
      const fitsWith = (cpus: number) =>
        fit({ name: '', machines: [busy('a', instances, { cpus })], tasks: all, steps }).every(
          ({ fitting, tasks: wanted }) => fitting === wanted,
        );
      const most = Math.min(perStep, instances);
      expect([fitsWith(instances + most), fitsWith(instances + most - 1)]).toEqual([true, false]);
    }),
  );
});

test('what is looked at stays as it was', () => {
  const machines = [busy('a', 3)];
  const before = structuredClone(machines);
  fit({ name: '', machines, tasks, steps: [{ start: [1], stop: [tasks[0]!] }, { start: [2] }] });
  expect(machines).toEqual(before);
});
