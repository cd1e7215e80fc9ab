import fc from 'fast-check';
import { expect, test } from 'vitest';
import { machine, now, pendingTask, placed, rules } from '../../../test/support/placement-scene.js';
import { placeTasks } from '../placement/index.js';
import { WorkingSet, type HeldRequest, type HeldTask } from './index.js';

const request = (id: string, version = 1): HeldRequest => ({
  request: { id, requestType: 'SERVICE', instances: 3 },
  state: 'ACTIVE',
  version,
  activeDeployId: 'd1',
  deploys: new Map([
    ['d1', { deploy: { requestId: id, id: 'd1', resources: { cpus: 1, memoryMb: 64, numPorts: 1 } } }],
  ]),
});
const task = (requestId: string, slaveId: string, instanceNo: number, ports: number[] = []): HeldTask => ({
  ...placed(slaveId, instanceNo),
  taskId: { id: `${requestId}-d1-${instanceNo}-${slaveId}`, deployId: 'd1' },
  requestId,
  cpus: 1,
  memoryMb: 64,
  diskMb: 0,
  ports,
});
const newSet = (): WorkingSet => new WorkingSet(rules());
const due = (set: WorkingSet, at = now): string[] =>
  [...set.snapshot(at, new Set()).due].map(({ pendingTaskId }) => pendingTaskId.id).toSorted();

test('pending tasks are due in their time, and the next one is known', () => {
  const set = newSet();
  const [early, late] = [pendingTask(1, { nextRunAt: now }), pendingTask(2, { nextRunAt: now + 500 })];
  set.putRequest('svc', request('svc'), [], [late, early]);
  expect(due(set)).toEqual([early.pendingTaskId.id]);
  expect(set.nextDueAt()).toBe(now + 500);
  set.putRequest('svc', request('svc'), [], [early]);
  expect(due(set, now + 1_000)).toEqual([early.pendingTaskId.id]);
  expect(set.nextDueAt()).toBeUndefined();
});

test('pending tasks of a request that is gone are still seen, and can be removed', () => {
  const set = newSet();
  set.putRequest('svc', undefined, [], [pendingTask(1)]);
  const snapshot = set.snapshot(now, new Set());
  expect([...placeTasks(snapshot, rules(), now, 1)]).toMatchObject([{ kind: 'obsolete', why: 'REQUEST_GONE' }]);
});

test('tasks of a slave that is not shown count when it is back', () => {
  const set = newSet();
  set.putRequest('svc', request('svc'), [task('svc', 's1', 1, [31_000])], []);
  set.putMachine('s1', machine('s1'));
  const [there] = set.snapshot(now, new Set()).machines.machines;
  expect(there).toMatchObject({ free: { cpus: 3_000 } });
  expect(there!.ports.has(31_000)).toBe(false);
});

test('what a round placed counts once, also where it was told; what it did not place is free again', () => {
  const set = newSet();
  set.putMachine('s1', machine('s1'));
  const pending = [pendingTask(1), pendingTask(2)];
  set.putRequest('svc', request('svc'), [], pending);
  const outcomes = [...placeTasks(set.snapshot(now, new Set()), rules(), now, 1)];
  expect(outcomes.map(({ kind }) => kind)).toEqual(['place', 'place']);
  const [first] = outcomes;
  if (first?.kind !== 'place') throw new Error('not placed');
  set.taskPlaced(first.pending.pendingTaskId.id, { ...task('svc', 's1', 1, first.ports), taskId: first.taskId });
  set.takenBack('s1');
  const [there] = set.snapshot(now, new Set()).machines.machines;
  expect(there!.free.cpus).toBe(3_000);
  expect(due(set)).toHaveLength(1);
});

/** Machines best first. */
const everythingIn = (set: WorkingSet): unknown => {
  const requests = [...set.requestIds].toSorted().map((id) => [id, set.describeRequest(id)]);
  const { machines } = set.snapshot(now, new Set()).machines;
  return [requests, machines.map(({ view }) => set.describeMachine(view.slaveId))];
};

type Step =
  | { kind: 'request'; id: string; tasks: number; pending: number; version: number }
  | { kind: 'gone'; id: string }
  | { kind: 'machine'; id: string; cpus: number }
  | { kind: 'noMachine'; id: string }
  | { kind: 'ended'; id: string; instanceNo: number; mayRun: boolean }
  | { kind: 'round' };

const id = fc.constantFrom('a', 'b', 'c');
const slave = fc.constantFrom('s1', 's2', 's3');
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('request' as const),
    id,
    tasks: fc.integer({ min: 0, max: 3 }),
    pending: fc.integer({ min: 0, max: 3 }),
    version: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({ kind: fc.constant('gone' as const), id }),
  fc.record({ kind: fc.constant('machine' as const), id: slave, cpus: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('noMachine' as const), id: slave }),
  fc.record({
    kind: fc.constant('ended' as const),
    id,
    instanceNo: fc.integer({ min: 1, max: 3 }),
    mayRun: fc.boolean(),
  }),
  fc.constant({ kind: 'round' as const }),
);

/** The rows as a database would have them, beside a working set that is told of each change. */
class Rows {
  readonly requests = new Map<
    string,
    { request: HeldRequest; tasks: HeldTask[]; givenUp: HeldTask[]; pending: ReturnType<typeof pendingTask>[] }
  >();
  readonly machines = new Map<string, ReturnType<typeof machine>>();
  readonly set = newSet();
  private placedTasks = 0;

  take(next: Step): void {
    switch (next.kind) {
      case 'request': {
        const tasks = Array.from({ length: next.tasks }, (_, n) => task(next.id, `s${n + 1}`, n + 1, [31_000 + n]));
        const pending = Array.from({ length: next.pending }, (_, n) =>
          pendingTask(n + 1, { requestId: next.id, nextRunAt: now - 100 + n * 100 }),
        );
        this.requests.set(next.id, { request: request(next.id, next.version), tasks, givenUp: [], pending });
        return this.set.putRequest(next.id, request(next.id, next.version), tasks, pending);
      }
      case 'gone':
        this.requests.delete(next.id);
        return this.set.putRequest(next.id, undefined, [], []);
      case 'machine':
        this.machines.set(next.id, machine(next.id, { cpus: next.cpus }));
        return this.set.putMachine(next.id, machine(next.id, { cpus: next.cpus }));
      case 'noMachine':
        this.machines.delete(next.id);
        return this.set.putMachine(next.id, undefined);
      case 'ended': {
        const held = this.requests.get(next.id);
        const ended = held?.tasks[next.instanceNo - 1];
        if (!held || !ended) return;
        held.tasks = held.tasks.filter((other) => other !== ended);
        if (next.mayRun) held.givenUp.push({ ...ended, cleaning: false, killed: false });
        return this.set.taskEnded(next.id, ended.taskId.id, next.mayRun);
      }
      case 'round':
        return this.round();
    }
  }

  /** Every second placement cannot be written. */
  private round(): void {
    for (const outcome of placeTasks(this.set.snapshot(now, new Set()), rules(), now, 1)) {
      if (outcome.kind !== 'place') continue;
      const held = this.requests.get(outcome.taskId.requestId)!;
      if (this.placedTasks++ % 2 === 1) {
        this.set.takenBack(outcome.machine.slaveId);
        continue;
      }
      const { slaveId, rackId } = outcome.machine;
      const placedTask = {
        ...task(outcome.taskId.requestId, slaveId, 9, outcome.ports),
        rackId,
        taskId: outcome.taskId,
      };
      held.pending = held.pending.filter((other) => other !== outcome.pending);
      held.tasks.push(placedTask);
      this.set.taskPlaced(outcome.pending.pendingTaskId.id, placedTask);
    }
  }

  fresh(): WorkingSet {
    const set = newSet();
    for (const [key, view] of this.machines) set.putMachine(key, view);
    for (const [key, held] of this.requests) set.putRequest(key, held.request, held.tasks, held.pending, held.givenUp);
    return set;
  }
}

test('however it came about, it equals a working set filled anew', () =>
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const rows = new Rows();
      for (const next of steps) rows.take(next);
      expect(everythingIn(rows.set)).toEqual(everythingIn(rows.fresh()));
      expect(due(rows.set)).toEqual(due(rows.fresh()));
    }),
    { numRuns: 500 },
  ));
