import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Event, RequestParent, TaskIdHistory } from 'muster-client';
import { Entities } from './entities';
import { outdatedBy } from './outdated';
import { failuresOf, MAX_RUNS, noTroubles, troublesOf } from './troubles';

interface Row {
  readonly id: string;
  readonly value: number;
}

/** A service whose rows change, and timers that fire when the test says so. */
function stage(ids: readonly string[]) {
  const service = new Map(ids.map((id) => [id, { id, value: 0 }]));
  const timers: (() => void)[] = [];
  const asked: (readonly string[])[] = [];
  const pauses: number[] = [];
  let failing = 0;
  const answer = (): void => {
    if (failing-- > 0) throw new Error('the service does not answer');
  };
  const rows = new Entities<Row>({
    idOf: ({ id }) => id,
    readAll: async () => {
      answer();
      return [...service.values()];
    },
    readSome: async (some) => {
      answer();
      asked.push(some);
      return some.flatMap((id) => service.get(id) ?? []);
    },
    later: (then, ms) => {
      timers.push(then);
      pauses.push(ms);
    },
  });
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 50; round++) {
      for (const timer of timers.splice(0)) timer();
      await new Promise((resolve) => setTimeout(resolve));
      if (timers.length === 0) return;
    }
  };
  const fail = (times: number): void => void (failing = times);
  return { service, rows, settle, asked, pauses, fail };
}

test('whatever changes, comes and goes, in whichever order it is told, the rows become those of the service', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), gone: fc.boolean(), settles: fc.boolean() }), {
        maxLength: 20,
      }),
      async (changes) => {
        const { service, rows, settle } = stage(['a', 'b']);
        const loading = rows.load();
        for (const [value, { id, gone, settles }] of changes.entries()) {
          if (gone) service.delete(id);
          else service.set(id, { id, value });
          rows.dirty(id);
          if (settles) await settle();
        }
        await loading;
        await settle();
        const byId = (a: Row, b: Row): number => (a.id < b.id ? -1 : 1);
        expect([...rows.all()].sort(byId)).toEqual([...service.values()].sort(byId));
      },
    ),
  ));

test('a row that is removed while all are read does not come back with their answer', async () => {
  const { service, rows, settle } = stage(['a', 'b']);
  const loading = rows.load();
  service.delete('a');
  rows.remove('a');
  await loading;
  await settle();
  expect(rows.all().map(({ id }) => id)).toEqual(['b']);
});

test.each([
  ['some', 3],
  ['more than are read by themselves', 350],
] as const)('what could not be read is read again, each time after a longer pause: %s', async (_name, changed) => {
  const { service, rows, settle, fail, pauses } = stage(Array.from({ length: 400 }, (_each, index) => `r${index}`));
  await rows.load();
  for (const id of [...service.keys()].slice(0, changed)) {
    service.set(id, { id, value: 1 });
    rows.dirty(id);
  }
  fail(3);
  await settle();
  expect(rows.all().filter(({ value }) => value === 1)).toHaveLength(changed);
  expect(pauses.slice(1, 4)).toEqual([1_000, 2_000, 4_000]);
  expect(pauses).toHaveLength(4);
});

test('a reader of one row is told of that row alone', async () => {
  const { service, rows, settle } = stage(['a', 'b']);
  await rows.load();
  const told: string[] = [];
  rows.subscribeRow('a', () => told.push('a'));
  rows.subscribeRow('b', () => told.push('b'));
  service.set('b', { id: 'b', value: 1 });
  rows.dirty('b');
  await settle();
  expect(told).toEqual(['b']);
});

test('many rows are read together, and beyond 300 all of them once', async () => {
  const ids = Array.from({ length: 400 }, (_each, index) => `r${index}`);
  const { rows, settle, asked } = stage(ids);
  await rows.load();
  for (const id of ids.slice(0, 150)) rows.dirty(id);
  await settle();
  expect(asked.map((some) => some.length)).toEqual([100, 50]);
  for (const id of ids) rows.dirty(id);
  await settle();
  expect(asked).toHaveLength(2);
});

test.each<[Partial<Event>, string[][]]>([
  [{ type: 'TASK', requestId: 'web', taskId: 't1' }, [['request', 'web'], ['tasks'], ['flows'], ['task', 't1']]],
  [{ type: 'DEPLOY', requestId: 'web' }, [['request', 'web'], ['deploys'], ['state'], ['troubles'], ['schedules']]],
  [{ type: 'HEALTH', requestId: 'web', taskId: 't1' }, [['request', 'web'], ['tasks'], ['task', 't1']]],
  [{ type: 'PENDING', requestId: 'web' }, [['request', 'web'], ['tasks'], ['flows'], ['state']]],
  [{ type: 'REQUEST', requestId: 'web' }, [['request', 'web'], ['tasks'], ['flows'], ['state'], ['schedules']]],
  [{ type: 'SLAVE', machineId: 's1' }, [['machines'], ['machine', 's1'], ['state']]],
  [{ type: 'NEWER' as Event['type'] }, []],
])('%j outdates what it tells of', (event, keys) => expect(outdatedBy(event as Event)).toEqual(keys));

const parent = (
  state: RequestParent['state'] = 'ACTIVE',
  requestType: RequestParent['request']['requestType'] = 'SERVICE',
): RequestParent => ({ state, request: { id: 'web', requestType } });
const kinds = (all: Partial<typeof noTroubles>, of = parent()) =>
  troublesOf(of, { ...noTroubles, ...all }).map(({ kind }) => kind);

test('a request is red for a crash loop that goes on, a cooldown, and missing instances', () => {
  const loop = { requestId: 'web', deployId: 'v1', type: 'OOM', start: 1 } as const;
  expect(kinds({})).toEqual([]);
  expect(kinds({ crashLoops: { web: [loop] } })).toEqual(['crash loop']);
  expect(kinds({ crashLoops: { web: [{ ...loop, end: 2 }] } })).toEqual([]);
  expect(kinds({}, parent('SYSTEM_COOLDOWN'))).toEqual(['cooling down']);
  expect(kinds({ underProvisioned: new Set(['web']) })).toEqual(['too few instances']);
  expect(kinds({ underProvisioned: new Set(['web']) }, parent('PAUSED'))).toEqual([]);
});

const run = (requestId: string, updatedAt: number): TaskIdHistory =>
  ({ taskId: { requestId }, updatedAt }) as unknown as TaskIdHistory;

test('a request is red for a last deploy that failed, with the reason, and a job for a last run that did', () => {
  const deployMarker = { requestId: 'web', deployId: 'v2', timestamp: 1 };
  const deployResult = { deployState: 'FAILED', timestamp: 2, message: 'not healthy', deployFailures: [] } as const;
  const failures = failuresOf([{ deployMarker, deployResult: { ...deployResult, deployFailures: [] } }], {
    failed: [run('web', 5), run('other', 3)],
    finished: [run('web', 4), run('other', 9)],
  });
  expect(troublesOf(parent(), { ...noTroubles, ...failures })).toEqual([
    { kind: 'last deploy failed', text: 'Deploy v2 failed: not healthy' },
  ]);
  expect(kinds(failures, parent('ACTIVE', 'SCHEDULED'))).toEqual(['last deploy failed', 'last run failed']);
  expect([...failures.failedRuns]).toEqual(['web']);
});

test('a run that failed before the oldest that is known to have finished says nothing', () => {
  const finished = Array.from({ length: MAX_RUNS }, (_each, index) => run(`r${index}`, 100 + index));
  expect([...failuresOf([], { failed: [run('web', 99), run('job', 101)], finished }).failedRuns]).toEqual(['job']);
});
