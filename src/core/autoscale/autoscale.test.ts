import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Autoscale, AutoscaleState } from '../model/autoscale.js';
import type { Request } from '../model/request.js';
import {
  type AutoscaleFacts,
  autoscaleText,
  decideAutoscale,
  type HoldFacts,
  holdOf,
  usageOf,
  type UsedTask,
  withPresentInstances,
} from './index.js';

const now = 1_000_000_000;
const every = 15_000;
const byLoad: Autoscale = { min: 2, max: 10, metric: 'HTTP', target: 100, uri: 'http://load.example.com' };
const byCpu: Autoscale = { min: 2, max: 10, metric: 'CPU', target: 60 };

describe('the number of instances', () => {
  test.each<{
    name: string;
    spec?: Partial<Autoscale>;
    of?: Autoscale;
    instances?: number;
    value: number;
    counted?: number;
    outcome: string;
    to?: number;
    needed?: number;
  }>([
    { name: 'stays at the target', value: 400, outcome: 'STEADY', needed: 4 },
    { name: 'stays within a tenth above it', value: 440, outcome: 'STEADY', needed: 5 },
    { name: 'stays within a tenth below it', value: 360, outcome: 'STEADY', needed: 4 },
    { name: 'grows at once', value: 441, outcome: 'SCALED', to: 5 },
    { name: 'grows by as many as are needed', value: 930, outcome: 'SCALED', to: 10, needed: 10 },
    {
      name: 'grows by no more than the step',
      spec: { stepLimit: 2 },
      value: 930,
      outcome: 'SCALED',
      to: 6,
      needed: 10,
    },
    { name: 'grows to max at most', value: 5_000, outcome: 'SCALED', to: 10, needed: 50 },
    { name: 'stays at max', instances: 10, value: 5_000, outcome: 'AT_MAX', needed: 50 },
    { name: 'does not shrink at once', value: 100, outcome: 'DELAYED', needed: 1 },
    {
      name: 'shrinks at once without a delay',
      spec: { scaleDownDelayMillis: 0 },
      value: 300,
      outcome: 'SCALED',
      to: 3,
    },
    { name: 'stays at min', instances: 2, value: 0, outcome: 'AT_MIN', needed: 0 },
    { name: 'is exact in spite of floating point', spec: { target: 0.1 }, value: 0.6, outcome: 'SCALED', to: 6 },
    { name: 'of a value beyond all numbers is max', value: 1e300, outcome: 'SCALED', to: 10 },
    { name: 'above max is corrected at once', instances: 14, value: 950, outcome: 'SCALED', to: 10 },
    { name: 'below min is corrected at once', instances: 1, value: 0, outcome: 'SCALED', to: 2 },
    { name: 'grows by CPU in proportion', of: byCpu, value: 93, counted: 4, outcome: 'SCALED', to: 7 },
    { name: 'stays when CPU is near', of: byCpu, value: 65, counted: 4, outcome: 'STEADY' },
    {
      name: 'takes it that instances which do not count use nothing, where more are needed',
      of: byCpu,
      instances: 4,
      value: 93,
      counted: 2,
      outcome: 'STEADY',
      needed: 4,
    },
    {
      name: 'takes it that instances which do not count use the target, where fewer are enough',
      of: { ...byCpu, scaleDownDelayMillis: 0 },
      instances: 4,
      value: 20,
      counted: 2,
      outcome: 'SCALED',
      to: 3,
    },
  ])('$name', ({ spec, of = byLoad, instances = 4, value, counted, outcome, to, needed }) => {
    const decided = decideAutoscale(
      { ...of, ...spec },
      { instances, measured: { value, counted } },
      undefined,
      now,
      every,
    );
    expect([decided.state.outcome, decided.to]).toEqual([outcome, to]);
    if (needed !== undefined) expect(decided.state.needed).toBe(needed);
    expect(decided.state).toMatchObject({ at: now, instances: to ?? instances, value });
    if (to !== undefined) expect(decided.state).toMatchObject({ scaledAt: now, scaledFrom: instances, scaledTo: to });
  });

  test('does not change without a value, nor on a hold, whose value is told', () => {
    const decide = (facts: AutoscaleFacts) => decideAutoscale(byLoad, facts, undefined, now, every);
    expect(decide({ instances: 14, measured: { problem: 'no answer' } })).toEqual({
      state: { at: now, instances: 14, outcome: 'INCONCLUSIVE', reason: 'no answer' },
    });
    expect(decide({ instances: 4, hold: 'a bounce is in progress', measured: { value: 930 } })).toEqual({
      state: { at: now, instances: 4, outcome: 'HELD', reason: 'a bounce is in progress', value: 930 },
    });
    expect(decide({ instances: 4, hold: 'there is no deploy' }).state.outcome).toBe('HELD');
  });
});

interface Look {
  after?: number;
  value?: number;
  hold?: string;
  instances?: number;
}

/** Looks at these loads, each so many milliseconds after the one before; answers the numbers of instances. */
function follow(spec: Autoscale, looks: readonly Look[]): { counts: number[]; state: AutoscaleState | undefined } {
  let state: AutoscaleState | undefined;
  let at = now;
  let instances = looks[0]!.instances ?? 8;
  const counts = looks.map((look) => {
    at += look.after ?? every;
    instances = look.instances ?? instances;
    const measured = look.value === undefined ? { problem: 'none' } : { value: look.value };
    const decided = decideAutoscale(spec, { instances, hold: look.hold, measured }, state, at, every);
    state = decided.state;
    instances = decided.to ?? instances;
    return instances;
  });
  return { counts, state };
}
const looks = (millis: number, value: number) => Array.from({ length: millis / every }, () => ({ value }));

describe('fewer instances', () => {
  test('come when fewer were enough for the whole delay, and then as many as were needed at most', () => {
    const { counts } = follow(byLoad, [{ value: 300 }, ...looks(150_000, 500), ...looks(150_000, 300)]);
    expect(counts.slice(0, -1).every((count) => count === 8)).toBe(true);
    expect(counts.at(-1)).toBe(5);
  });
  test('do not come while the load rises in between', () => {
    const { counts } = follow(byLoad, [...looks(285_000, 300), { value: 790 }, ...looks(285_000, 300)]);
    expect(new Set(counts)).toEqual(new Set([8]));
  });
  test.each<[string, Look]>([
    ['a look without a value', {}],
    ['a hold', { value: 300, hold: 'a deploy' }],
    ['a number that another has changed', { value: 300, instances: 9 }],
    ['a gap that is too long', { value: 300, after: 90_001 }],
    ['a clock that was set back', { value: 300, after: -every }],
  ])('begin their delay anew after %s', (_, look) => {
    const { counts } = follow({ ...byLoad, max: 9 }, [...looks(285_000, 300), look, ...looks(285_000, 300)]);
    expect(counts.at(-1)).toBe(look.instances ?? 8);
  });
  test('keep their delay over a change of the leader', () => {
    const { counts } = follow(byLoad, [...looks(240_000, 300), { value: 300, after: 90_000 }]);
    expect(counts.at(-1)).toBe(3);
  });
});

const anySpec = fc
  .record({
    min: fc.integer({ min: 1, max: 20 }),
    more: fc.nat(20),
    target: fc.double({ min: 0.01, max: 1_000, noNaN: true }),
    scaleDownDelayMillis: fc.nat(20 * every),
    stepLimit: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
    metric: fc.constantFrom('HTTP' as const, 'CPU' as const),
  })
  .map(({ more, ...spec }): Autoscale => ({ ...spec, max: spec.min + more }));
const anyLook = fc.record({
  after: fc.integer({ min: 1, max: 4 * every }),
  share: fc.option(fc.double({ min: 0, max: 4, noNaN: true }), { nil: undefined }),
  counted: fc.nat(30),
  hold: fc.option(fc.constant('a deploy'), { nil: undefined, freq: 8 }),
});

test('the laws: bounds, steps, nothing without a value, and never fewer within the delay of any change', () =>
  fc.assert(
    fc.property(anySpec, fc.integer({ min: 1, max: 50 }), fc.array(anyLook, { maxLength: 60 }), (spec, first, all) => {
      let instances = first;
      let state: AutoscaleState | undefined;
      let at = now;
      let changedAt = Number.NEGATIVE_INFINITY;
      const within = (count: number) => Math.min(Math.max(count, spec.min), spec.max);
      for (const { after, share, counted, hold } of all) {
        at += after;
        const value = share === undefined ? undefined : share * spec.target * (spec.metric === 'HTTP' ? instances : 1);
        const measured = value === undefined ? { problem: 'none' } : { value, counted: Math.max(1, counted) };
        const decided = decideAutoscale(spec, { instances, hold, measured }, state, at, every);
        const { to } = decided;
        expect(decided.state.instances).toBe(to ?? instances);
        if (to !== undefined) {
          expect([value !== undefined, hold]).toEqual([true, undefined]);
          expect(to).not.toBe(instances);
          expect(to).toBe(within(to));
          expect(Math.abs(to - within(instances))).toBeLessThanOrEqual(spec.stepLimit ?? spec.max);
          // The correction of a number beyond the bounds aside.
          if (to < instances && within(instances) === instances)
            expect(at - changedAt).toBeGreaterThanOrEqual(spec.scaleDownDelayMillis!);
          if (within(instances) === instances) expect(Math.abs(share! - 1)).toBeGreaterThan(0.1 - 1e-6);
          if (!(to < instances && within(instances) !== instances)) changedAt = at;
        }
        instances = to ?? instances;
        state = decided.state;
      }
    }),
  ));

describe('usage', () => {
  const task = (changes: Partial<UsedTask>, ...samples: [at: number, cpuSeconds: number, mb: number][]): UsedTask => ({
    cpus: 0.5,
    memoryMb: 100,
    samples: samples.map(([timestamp, cpuSeconds, mb]) => ({
      timestamp,
      cpuSeconds,
      memoryTotalBytes: mb * 1_048_576,
    })),
    ...changes,
  });
  test.each<{ name: string; metric?: 'CPU' | 'MEMORY'; tasks: UsedTask[]; is: object }>([
    {
      name: 'is the share of what its tasks ask for',
      tasks: [task({}, [0, 10, 0], [60_000, 28, 0]), task({ cpus: 1 }, [0, 5, 0], [60_000, 41, 0])],
      is: { value: 60, counted: 2 },
    },
    {
      name: 'leaves out a task with the sample of its start alone',
      tasks: [task({}, [0, 10, 0], [60_000, 40, 0]), task({}, [60_000, 30, 0])],
      is: { value: 100, counted: 1 },
    },
    {
      name: 'leaves out old samples',
      tasks: [task({}, [0, 10, 0], [60_000, 25, 0]), task({}, [-80_000, 10, 0], [-20_000, 40, 0])],
      is: { value: 50, counted: 1 },
    },
    { name: 'of counters that went back is none', tasks: [task({}, [0, 90, 0], [60_000, 5, 0])], is: { value: 0 } },
    {
      name: 'of memory needs one sample',
      metric: 'MEMORY',
      tasks: [task({}, [60_000, 0, 50]), task({}, [0, 0, 10], [60_000, 0, 100])],
      is: { value: 75, counted: 2 },
    },
    {
      name: 'without samples is not known',
      tasks: [task({})],
      is: { problem: expect.stringMatching(/no recent sample/) },
    },
    {
      name: 'of tasks that ask for nothing is not known',
      tasks: [task({ cpus: 0 }, [0, 10, 0], [60_000, 25, 0])],
      is: { problem: expect.stringMatching(/ask for no cpus/) },
    },
  ])('$name', ({ metric = 'CPU', tasks, is }) => expect(usageOf(metric, tasks, -10_000)).toMatchObject(is));
});

test.each<[string | undefined, Partial<HoldFacts>]>([
  [undefined, {}],
  ['the request is PAUSED', { state: 'PAUSED' }],
  ['the request is in cooldown, because its tasks fail', { state: 'SYSTEM_COOLDOWN' }],
  ['the request is being cleaned', { cleanups: ['PAUSING'] }],
  ['there is no deploy', { deployInUse: undefined }],
  ["deploy 'v2' is in progress", { pendingDeployId: 'v2' }],
  ['a bounce is in progress', { bouncing: true }],
  ['a bounce is in progress', { cleanups: ['BOUNCE'] }],
  ['a scale for a while by ann is in force until noon', { expiringScale: { until: 'noon', user: 'ann' } }],
  ['the priority freeze in force holds back its tasks', { frozen: true }],
  ['the action SCALE_REQUEST is disabled', { switchedOff: true }],
])('a hold: %s', (hold, facts) =>
  expect(
    holdOf({
      request: { id: 'web', requestType: 'SERVICE' },
      state: 'ACTIVE',
      cleanups: [],
      deployInUse: 'v1',
      bouncing: false,
      deployChangesRequest: false,
      frozen: false,
      switchedOff: false,
      ...facts,
    }),
  ).toBe(hold),
);

describe('the number in a request that is saved', () => {
  const sent = (instances: number | undefined, changes: Partial<Autoscale> = {}): Request => ({
    id: 'web',
    requestType: 'SERVICE',
    ...(instances !== undefined && { instances }),
    autoscale: { ...byCpu, ...changes },
  });
  const plain = (instances?: number): Request => ({ id: 'web', requestType: 'SERVICE', instances });
  test.each<{ name: string; given: Request; stored?: Request; instances: number | undefined }>([
    { name: 'a new one begins with min', given: sent(undefined), instances: 2 },
    { name: 'a new one may begin with more', given: sent(5), instances: 5 },
    {
      name: 'where autoscaling begins, the present number stays',
      given: sent(undefined),
      stored: plain(6),
      instances: 6,
    },
    { name: 'within the bounds', given: sent(undefined), stored: plain(1), instances: 2 },
    { name: 'or the one that is sent counts', given: sent(3), stored: plain(6), instances: 3 },
    { name: 'a file that is applied again changes nothing', given: sent(2), stored: sent(7), instances: 7 },
    { name: 'nor does one without a number', given: sent(undefined), stored: sent(7), instances: 7 },
    { name: 'other bounds hold at once', given: sent(2, { max: 5 }), stored: sent(7), instances: 5 },
    { name: 'what a person chose for a while stays', given: sent(undefined), stored: sent(15), instances: 15 },
    { name: 'a number that cannot be is left to be refused', given: sent(12), stored: sent(7), instances: 12 },
    { name: 'without autoscaling nothing is filled in', given: plain(), stored: sent(7), instances: undefined },
  ])('$name', ({ given, stored, instances }) => expect(withPresentInstances(given, stored).instances).toBe(instances));
});

test('each outcome has a sentence that says why', () => {
  const told = (state: Partial<AutoscaleState>, present = 4, until?: string) =>
    autoscaleText(byCpu, { at: now, outcome: 'STEADY', instances: present, ...state }, present, until);
  expect([
    autoscaleText(byCpu, undefined, 1, undefined),
    told({ value: 58.333333 }),
    told({ outcome: 'SCALED', value: 93, scaledFrom: 2, scaledTo: 4 }),
    told({ outcome: 'AT_MAX', value: 93, needed: 16 }, 10),
    told({ outcome: 'AT_MIN', value: 3, needed: 1 }, 2),
    told({ outcome: 'DELAYED', value: 20, needed: 2 }, 4, 'noon'),
    told({ outcome: 'HELD', reason: 'a bounce is in progress', value: 20 }),
    told({ outcome: 'INCONCLUSIVE', reason: 'no answer within 5000 ms' }),
    told({ outcome: 'REFUSED', value: 93, needed: 7, reason: 'no' }),
  ]).toEqual([
    'Autoscaling (2 to 10) keeps 1 instance: it has not measured yet',
    'Autoscaling (2 to 10) keeps 4 instances: CPU 58.33 %, target 60 %',
    'Autoscaling (2 to 10) has just changed 2 to 4 instances: CPU 93 %, target 60 %',
    'Autoscaling (2 to 10) keeps 10 instances, which is max: CPU 93 %, target 60 %, for which 16 would be needed',
    'Autoscaling (2 to 10) keeps 2 instances, which is min: CPU 3 %, target 60 %, for which 1 would be enough',
    'Autoscaling (2 to 10) keeps 4 instances: CPU 20 %, target 60 %, for which 2 would be enough; it removes some if that stays so until noon',
    'Autoscaling (2 to 10) keeps 4 instances for now: a bounce is in progress (CPU 20 %, target 60 %)',
    'Autoscaling (2 to 10) keeps 4 instances: there is no value of the metric: no answer within 5000 ms',
    'Autoscaling (2 to 10) keeps 4 instances: CPU 93 %, target 60 %, for which 7 are needed, but the scale was refused: no',
  ]);
});
