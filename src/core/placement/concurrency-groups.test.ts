import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { machine, now, pendingTask, placed, rules } from '../../../test/support/placement-scene.js';
import type { Request } from '../model/request.js';
import { explainPending, explanationText, placeTasks, type PlacementSnapshot } from './index.js';
import { useOfGroup } from './concurrency-groups.js';

interface Member {
  id: string;
  group?: { name: string; limit: number };
  priority?: number;
  active?: number;
  /** Milliseconds since each of its waiting runs is due. */
  due: readonly number[];
}

function snapshotOf(members: readonly Member[], machines = [machine('s1', { cpus: 100, memoryMb: 100_000 })]) {
  const requests = members.map(({ id, group, priority, active = 0, due }) => {
    const request: Request = { id, requestType: 'ON_DEMAND', taskPriorityLevel: priority, concurrencyGroup: group };
    const tasks = Array.from({ length: active }, (_, index) => placed('s1', index + 1));
    return { request, state: 'ACTIVE', activeDeployId: 'd1', tasks, pendingTasks: due.length } as const;
  });
  const snapshot: PlacementSnapshot = {
    due: members.flatMap(({ id, due }) =>
      due.map((age, index) =>
        pendingTask(1, {
          requestId: id,
          pendingType: 'ONEOFF',
          nextRunAt: now - age,
          createdAt: now - age,
          runId: `${index}`,
        }),
      ),
    ),
    requests: new Map(requests.map((view) => [view.request.id, view])),
    deploys: new Map(
      members.map(({ id }) => [
        `${id}-d1`,
        { deploy: { requestId: id, id: 'd1', command: 'x', resources: { cpus: 1, memoryMb: 1 } } },
      ]),
    ),
    machines,
    takenTaskIds: new Set(),
    groups: {
      get: (name) =>
        useOfGroup(
          requests
            .filter(({ request }) => request.concurrencyGroup?.name === name)
            .map(({ request, tasks }) => ({ request, active: tasks.length })),
        ),
    },
  };
  return snapshot;
}
const outcomes = (...parameters: Parameters<typeof snapshotOf>) => [
  ...placeTasks(snapshotOf(...parameters), rules(), now, 1),
];
const placedIds = (...parameters: Parameters<typeof snapshotOf>) =>
  outcomes(...parameters).flatMap((one) => (one.kind === 'place' ? [one.pending.pendingTaskId.requestId] : []));

const db = { name: 'db', limit: 2 };
describe('runs of one group', () => {
  test.each<{ name: string; members: Member[]; is: string[] }>([
    {
      name: 'share its limit, whatever requests they are of',
      members: [
        { id: 'a', group: db, due: [30, 20] },
        { id: 'b', group: db, due: [10] },
      ],
      is: ['a', 'a'],
    },
    {
      name: 'go by time, not request by request',
      members: [
        { id: 'a', group: db, due: [30, 1] },
        { id: 'b', group: db, due: [20] },
      ],
      is: ['a', 'b'],
    },
    {
      name: 'go by priority first, however old another is',
      members: [
        { id: 'a', group: db, priority: 0.1, due: [1_000_000, 900_000] },
        { id: 'b', group: db, priority: 0.9, due: [1] },
      ],
      is: ['b', 'a'],
    },
    {
      name: 'that are active take their places',
      members: [
        { id: 'a', group: db, active: 1, due: [3, 2] },
        { id: 'b', group: { name: 'db', limit: 2 }, due: [1] },
      ],
      is: ['a'],
    },
    {
      name: 'obey the least of the limits that its requests give',
      members: [
        { id: 'a', group: { name: 'db', limit: 9 }, due: [3, 2] },
        { id: 'b', group: { name: 'db', limit: 1 }, due: [] },
      ],
      is: ['a'],
    },
    {
      name: 'do not hold up those of others',
      members: [
        { id: 'a', group: db, active: 2, due: [9] },
        { id: 'b', group: { name: 'other', limit: 1 }, due: [8, 7] },
        { id: 'c', due: [6, 5] },
      ],
      is: ['b', 'c', 'c'],
    },
  ])('$name', ({ members, is }) => expect(placedIds(members)).toEqual(is));

  test('let one pass for which no machine has room', () => {
    const small = [machine('s1', { cpus: 1, memoryMb: 100 })];
    const members = [
      { id: 'a', group: db, due: [9] },
      { id: 'b', group: db, due: [8] },
    ];
    const snapshot = snapshotOf(members, small);
    const big = snapshot.deploys.get('a-d1')!.deploy;
    big.resources = { cpus: 50, memoryMb: 1 };
    const kinds = [...placeTasks(snapshot, rules(), now, 1)].map(({ kind, pending }) => [
      pending.pendingTaskId.requestId,
      kind,
    ]);
    expect(kinds).toEqual([
      ['a', 'wait'],
      ['b', 'place'],
    ]);
  });

  test('that wait are told so', () => {
    const members = [
      { id: 'a', group: db, active: 2, due: [] },
      { id: 'b', group: db, due: [8] },
    ];
    expect(outcomes(members)).toMatchObject([
      { kind: 'wait', why: 'CONCURRENCY_GROUP', cause: `'db' has 2 of at most 2` },
    ]);
    const snapshot = snapshotOf(members);
    const explained = explainPending(snapshot.due[0]!, snapshot, rules(), now);
    expect(explained.reason).toBe('CONCURRENCY_GROUP');
    expect(explanationText(explained)).toBe(
      `As many runs of its concurrency group are active as may be: 'db' has 2 of at most 2`,
    );
  });
});

test('a round never fills a group beyond its limit, leaves no place of it empty, and takes the most urgent', () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          group: fc.option(fc.record({ name: fc.constantFrom('x', 'y'), limit: fc.integer({ min: 1, max: 6 }) }), {
            nil: undefined,
          }),
          priority: fc.constantFrom(0.1, 0.5, 0.9),
          active: fc.nat(3),
          due: fc.array(fc.integer({ min: 1, max: 1_000 }), { maxLength: 4 }),
        }),
        { maxLength: 6 },
      ),
      (drawn) => {
        const members = drawn.map((member, index) => ({ ...member, id: `r${index}` }));
        const found = outcomes(members);
        for (const name of ['x', 'y']) {
          const own = members.filter(({ group }) => group?.name === name);
          const limit = Math.min(...own.map(({ group }) => group!.limit));
          const active = own.reduce((sum, one) => sum + one.active, 0);
          const waiting = own.flatMap(({ priority, due }) => due.map((age) => ({ priority, age })));
          const urgency = waiting.sort((a, b) => b.priority - a.priority || b.age - a.age);
          const room = own.length === 0 ? 0 : Math.max(0, limit - active);
          const taken = found.flatMap(({ kind, pending: { pendingTaskId: id } }) => {
            const member = own.find((one) => one.id === id.requestId);
            return kind === 'place' && member ? [{ priority: member.priority, age: now - id.nextRunAt }] : [];
          });
          expect(taken).toEqual(urgency.slice(0, room));
        }
        const free = members.filter(({ group }) => group === undefined).flatMap(({ due }) => due);
        const placedFree = found.filter(
          ({ kind, pending }) =>
            kind === 'place' && !members.find(({ id }) => id === pending.pendingTaskId.requestId)!.group,
        );
        expect(placedFree).toHaveLength(free.length);
      },
    ),
  ));
