import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import type { ActiveTask, SpreadRules } from '../pending-work/index.js';
import { scaleDown } from '../pending-work/scale-down.js';
import { makeTaskId } from '../task-id.js';
import { shrink } from './changes.js';

const task = (instanceNo: number, rackId = 'r1', changes: Partial<ActiveTask> = {}): ActiveTask => ({
  taskId: makeTaskId({ requestId: 'web', deployId: 'd1', startedAt: instanceNo, instanceNo, host: 'h', rackId }),
  slaveId: `s${instanceNo}`,
  rackId,
  killed: false,
  ...changes,
});
const rules = (changes: Partial<SpreadRules> = {}): SpreadRules => ({
  rebalanceRacksOnScaleDown: true,
  rackCount: 2,
  attributesOf: () => ({}),
  ...changes,
});
const service = (instances: number, changes: Partial<Request> = {}): Request => ({
  id: 'web',
  requestType: 'SERVICE',
  instances,
  rackSensitive: true,
  ...changes,
});
const shrunk = (from: Request, to: number, tasks: ActiveTask[], ruled: Partial<SpreadRules> = {}) =>
  shrink(from, { ...from, instances: to }, tasks, rules(ruled)).map(
    ({ taskId, cleanupType }) => `${cleanupType} ${taskId.instanceNo}`,
  );

describe('a request that is given fewer instances', () => {
  test('loses the tasks with a number beyond the new count', () =>
    expect(
      shrunk(
        service(3, { rackSensitive: false }),
        1,
        [1, 2, 3].map((no) => task(no)),
      ),
    ).toEqual(['SCALING_DOWN 2', 'SCALING_DOWN 3']));
  test('moves those that crowd a rack, at most half as many as there are racks', () => {
    const tasks = [task(1), task(2), task(3), task(4), task(5, 'r2'), task(6, 'r2')];
    expect(shrunk(service(6), 4, tasks)).toEqual(['SCALING_DOWN 5', 'SCALING_DOWN 6', 'REBALANCE_RACKS 2']);
  });
  test('leaves the racks alone unless that is switched on and the request asks for it', () => {
    const tasks = [1, 2, 3, 4].map((no) => task(no));
    const down = ['SCALING_DOWN 4'];
    expect(shrunk(service(4), 3, tasks, { rebalanceRacksOnScaleDown: false })).toEqual(down);
    expect(shrunk(service(4, { rackSensitive: undefined }), 3, tasks)).toEqual(down);
  });
  test('leaves the racks alone when it had no more instances than there are racks', () =>
    expect(shrunk(service(3), 2, [task(1), task(2), task(3)], { rackCount: 3 })).toEqual(['SCALING_DOWN 3']));
  test('moves tasks without an attribute of which a share is needed', () => {
    const request = service(3, { rackSensitive: false, slaveAttributeMinimums: { zone: { east: 50 } } });
    const attributesOf = (slaveId: string): Record<string, string> => (slaveId === 's3' ? { zone: 'east' } : {});
    expect(shrunk(request, 2, [task(1), task(2), task(3)], { attributesOf })).toEqual([
      'SCALING_DOWN 3',
      'REBALANCE_SLAVE_ATTRIBUTES 2',
    ]);
  });
  test('leaves alone what is on its way already', () => {
    const tasks = [task(1), task(2, 'r1', { killed: true }), task(3, 'r1', { cleaning: 'BOUNCING' })];
    expect(shrunk(service(3), 1, tasks)).toEqual([]);
  });
  test('loses none of a slave that stays when a request that is spread over all slaves leaves another', () => {
    const everywhere = service(3, { rackSensitive: false });
    const left = task(1, 'r1', { cleaning: 'DECOMISSIONING' });
    const numbers = (to: number, tasks: ActiveTask[]) =>
      shrink(everywhere, { ...everywhere, instances: to }, tasks, rules(), true).map(({ taskId }) => taskId.instanceNo);
    expect(numbers(2, [left, task(2), task(3)])).toEqual([]);
    expect(numbers(1, [task(1), task(2), task(3)])).toEqual([3, 2]);
  });
  test('that is spread over all slaves loses none on a slave that takes tasks while it has one elsewhere, on either way', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(numbers, fc.infiniteStream(fc.boolean()), fc.integer({ min: 1, max: 9 }), (given, flips, to) => {
        const tasks = given.map((number) => task(number));
        const active = new Set(tasks.filter(() => flips.next().value).map(({ slaveId }) => slaveId));
        const isActive = (slaveId: string): boolean => active.has(slaveId);
        const everywhere = service(tasks.length, { rackSensitive: false });
        const spread = rules({ isActive, onePerSlave: () => true });
        const surplus = { request: everywhere, matching: tasks, expected: to, deployPending: given[0]! > 4 };
        for (const cleanups of [
          shrink(everywhere, { ...everywhere, instances: to }, tasks, spread, true),
          scaleDown(surplus, spread).cleanups,
        ]) {
          const ended = new Set(cleanups.map(({ taskId }) => taskId.id));
          expect(ended.size).toBe(Math.max(tasks.length - to, 0));
          const endedOn = tasks.filter(({ taskId }) => ended.has(taskId.id)).map(({ slaveId }) => isActive(slaveId));
          const leftOn = tasks.filter(({ taskId }) => !ended.has(taskId.id)).map(({ slaveId }) => isActive(slaveId));
          expect(endedOn.includes(true) && leftOn.includes(false)).toBe(false);
        }
      }),
    );
  });
  test('moves no run', () => {
    const job: Request = {
      id: 'job',
      requestType: 'ON_DEMAND',
      instances: 3,
      slaveAttributeMinimums: { zone: { east: 50 } },
    };
    expect(shrunk(job, 2, [task(1), task(2), task(3)])).toEqual(['SCALING_DOWN 3']);
  });
});

test.each([3, 4])('%i instances in place of three end and move nothing', (to) =>
  expect(
    shrunk(
      service(3),
      to,
      [1, 2, 3].map((no) => task(no)),
    ),
  ).toEqual([]),
);
