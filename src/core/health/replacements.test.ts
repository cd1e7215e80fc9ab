import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideReplacements, pauseAfterWaves, replacementLimit, type SickRequest, type SickTask } from './index.js';

const now = 1_000_000;

const sick = (id: string, changes: Partial<SickTask> = {}): SickTask => ({
  id,
  sickSince: 0,
  lastFailedAt: now,
  askedWithinMillis: 1_000,
  restarts: true,
  isJudged: true,
  isOfPendingDeploy: false,
  ...changes,
});
const request = (changes: Partial<SickRequest> = {}): SickRequest => ({
  instances: 5,
  underWay: 0,
  isCoolingDown: false,
  sick: [sick('a')],
  ...changes,
});
test.each([
  [1, undefined, 1],
  [19, undefined, 1],
  [20, undefined, 2],
  [500, undefined, 50],
  [500, 3, 3],
])('%i instances with the limit %s: %i at once', (instances, maxReplacements, most) =>
  expect(replacementLimit({ instances, maxReplacements })).toBe(most),
);

test.each([
  [0, 0],
  [1, 10_000],
  [2, 20_000],
  [5, 160_000],
  [6, 300_000],
  [1_000, 300_000],
])('after %i waves there is a pause of %i ms', (count, pause) => expect(pauseAfterWaves(count)).toBe(pause));

describe('a sick task', () => {
  test.each<{ name: string; seen: Partial<SickRequest>; replace?: string[]; waits?: object[] }>([
    { name: 'is replaced', seen: {}, replace: ['a'] },
    {
      name: 'is only told of',
      seen: { sick: [sick('a', { restarts: false })] },
      waits: [{ id: 'a', because: 'ACTION_NONE' }],
    },
    {
      name: 'may be the fault of the checker',
      seen: { sick: [sick('a', { isJudged: false })] },
      waits: [{ id: 'a', because: 'CANNOT_JUDGE' }],
    },
    {
      name: 'of a deploy in progress is its affair',
      seen: { sick: [sick('a', { isOfPendingDeploy: true })] },
      waits: [{ id: 'a', because: 'DEPLOY_IN_PROGRESS' }],
    },
    {
      name: 'waits while its request cools down',
      seen: { isCoolingDown: true },
      waits: [{ id: 'a', because: 'COOLDOWN' }],
    },
    {
      name: 'waits for the next start of its instance',
      seen: { sick: [sick('a', { nextStart: { kind: 'at', at: now + 7 } })] },
      waits: [{ id: 'a', because: 'RESTART_DELAY', until: now + 7 }],
    },
    {
      name: 'of an instance that is given up stays',
      seen: { sick: [sick('a', { nextStart: { kind: 'givenUp' } })] },
      waits: [{ id: 'a', because: 'RESTART_DELAY' }],
    },
    { name: 'waits while another is replaced', seen: { underWay: 1 }, waits: [{ id: 'a', because: 'LIMIT' }] },
    {
      name: 'waits after the wave before',
      seen: { waves: { count: 2, lastAt: now - 19_999 } },
      waits: [{ id: 'a', because: 'BACK_OFF', until: now + 1 }],
    },
    { name: 'goes when the pause is over', seen: { waves: { count: 2, lastAt: now - 20_000 } }, replace: ['a'] },
    {
      name: 'that has failed no check since a pause is asked once more',
      seen: { waves: { count: 2, lastAt: now - 20_100 }, sick: [sick('a', { lastFailedAt: now - 101 })] },
      waits: [{ id: 'a', because: 'BACK_OFF', until: now + 900 }],
    },
    {
      name: 'that has failed a check since a pause goes',
      seen: { waves: { count: 2, lastAt: now - 20_100 }, sick: [sick('a', { lastFailedAt: now - 100 })] },
      replace: ['a'],
    },
    {
      name: 'that has failed no check since there is room is asked once more',
      seen: { roomSince: Infinity, sick: [sick('a', { lastFailedAt: now - 1 })] },
      waits: [{ id: 'a', because: 'LIMIT', until: now + 1_000 }],
    },
    {
      name: 'that has failed a check since there is room goes',
      seen: { roomSince: now - 1, sick: [sick('a', { lastFailedAt: now - 1 })] },
      replace: ['a'],
    },
    {
      name: 'that was not asked again in its time goes',
      seen: { roomSince: now - 1_000, sick: [sick('a', { lastFailedAt: now - 2_000 })] },
      replace: ['a'],
    },
    {
      name: 'waits for others that may go with it',
      seen: {
        maxReplacements: 2,
        roomSince: now - 200,
        sick: [sick('a'), sick('b', { lastFailedAt: now - 201, askedWithinMillis: 500 })],
      },
      waits: ['a', 'b'].map((id) => ({ id, because: 'LIMIT', until: now + 300 })),
    },
    {
      name: 'does not wait for more than may go',
      seen: { roomSince: now - 200, sick: [sick('a', { lastFailedAt: now - 201 }), sick('b')] },
      replace: ['b'],
      waits: [{ id: 'a', because: 'LIMIT' }],
    },
    {
      name: 'waits after a wave of a clock that is a little ahead',
      seen: { waves: { count: 2, lastAt: now + 500 } },
      waits: [{ id: 'a', because: 'BACK_OFF', until: now + 20_500 }],
    },
    {
      name: 'with a check a day is asked once more, too',
      seen: {
        waves: { count: 1, lastAt: now - 900_000 },
        sick: [sick('a', { lastFailedAt: now - 890_001, askedWithinMillis: 86_400_000 })],
      },
      waits: [{ id: 'a', because: 'BACK_OFF', until: now - 890_000 + 86_400_000 }],
    },
    {
      name: 'does not wait for a clock that was ahead',
      seen: { waves: { count: 2, lastAt: now + 5_000 } },
      replace: ['a'],
    },
    {
      name: 'that is sick for longest goes first',
      seen: { sick: [sick('a', { sickSince: 2 }), sick('b', { sickSince: 1 })] },
      replace: ['b'],
      waits: [{ id: 'a', because: 'LIMIT' }],
    },
    {
      name: 'is one of many that the limit allows',
      seen: { maxReplacements: 2, sick: ['c', 'a', 'b'].map((id) => sick(id)) },
      replace: ['a', 'b'],
      waits: [{ id: 'c', because: 'LIMIT' }],
    },
  ])('$name', ({ seen, replace = [], waits = [] }) =>
    expect(decideReplacements(request(seen), now)).toMatchObject({ replace, waits }),
  );
});

describe('waves', () => {
  test('are counted when something is replaced', () => {
    expect(decideReplacements(request(), now).waves).toEqual({ count: 1, lastAt: now });
    expect(decideReplacements(request({ waves: { count: 3, lastAt: now - 60_000 } }), now).waves).toEqual({
      count: 4,
      lastAt: now,
    });
    expect(decideReplacements(request({ underWay: 1 }), now).waves).toBeUndefined();
  });
  test('are forgotten after a long time in which all was well', () =>
    expect(decideReplacements(request({ waves: { count: 9, lastAt: now - 900_000 } }), now).waves?.count).toBe(1));
});

test('whatever is sick: never more than the limit at once, each is told of once, and the order of rows says nothing', () =>
  fc.assert(
    fc.property(
      fc.record({
        instances: fc.integer({ min: 1, max: 200 }),
        maxReplacements: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
        underWay: fc.nat(30),
        waves: fc.option(fc.record({ count: fc.integer({ min: 1, max: 50 }), lastAt: fc.nat(2 * now) }), {
          nil: undefined,
        }),
        roomSince: fc.option(fc.oneof(fc.nat(now), fc.constant(Infinity)), { nil: undefined }),
        isCoolingDown: fc.boolean(),
        sick: fc.uniqueArray(
          fc.record({
            id: fc.string({ minLength: 1, maxLength: 3 }),
            sickSince: fc.nat(now),
            lastFailedAt: fc.nat(now),
            askedWithinMillis: fc.nat(now),
            restarts: fc.boolean(),
            isJudged: fc.boolean(),
            isOfPendingDeploy: fc.boolean(),
          }),
          { selector: ({ id }) => id, maxLength: 40 },
        ),
      }),
      (seen) => {
        const decision = decideReplacements(seen, now);
        const { replace, waits } = decision;
        expect(replace.length).toBeLessThanOrEqual(Math.max(0, replacementLimit(seen) - seen.underWay));
        expect([...replace, ...waits.map(({ id }) => id)].sort()).toEqual(seen.sick.map(({ id }) => id).sort());
        for (const task of seen.sick) if (!task.isJudged || !task.restarts) expect(replace).not.toContain(task.id);
        expect(decideReplacements({ ...seen, sick: seen.sick.toReversed() }, now)).toEqual(decision);
      },
    ),
  ));

test('all instances fail for an hour: the pauses grow, and there are never more at once than the limit', () => {
  let at = 0;
  let waves: SickRequest['waves'];
  const begun: number[] = [];
  for (; at < 3_600_000; at += 1_000) {
    const decision = decideReplacements(
      request({ instances: 30, waves, sick: ['a', 'b', 'c', 'd', 'e'].map((id) => sick(id, { lastFailedAt: at })) }),
      at,
    );
    expect(decision.replace.length).toBeLessThanOrEqual(3);
    if (decision.waves) begun.push(at);
    waves = decision.waves ?? waves;
  }
  const pauses = begun.slice(1).map((time, index) => time - begun[index]!);
  expect(pauses.slice(0, 6)).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000]);
  expect(Math.max(...pauses)).toBe(300_000);
});

test('room for replacements is there since the first decision that sees it', () => {
  const { roomSince } = decideReplacements(request({ underWay: 1 }), now);
  expect(roomSince).toBe(Infinity);
  expect(decideReplacements(request({ roomSince, sick: [] }), now + 5).roomSince).toBe(now + 5);
  expect(decideReplacements(request({ roomSince: now + 5, sick: [] }), now + 9).roomSince).toBe(now + 5);
  expect(decideReplacements(request({ sick: [] }), now).roomSince).toBeUndefined();
});

describe('tasks that are asked each in an interval of its own, by seconds', () => {
  interface Story {
    /** Number of seconds between checks of each task, all of which are sick. */
    intervals: number[];
    limit: number;
    /** Number of seconds after which a replacement is healthy, if the dependency is there. */
    startup: number;
    /** Second from which on the dependency of all is there. */
    backAt: number;
  }

  /** Seconds in which each task was replaced, by its index. */
  function replacedIn({ intervals, limit, startup, backAt }: Story, seconds: number): Map<number, number> {
    let waves: SickRequest['waves'];
    let roomSince: SickRequest['roomSince'];
    const replaced = new Map<number, number>();
    for (let second = 1; second <= seconds; second++) {
      const stillSick = intervals.flatMap((interval, index) => {
        const last = Math.floor(second / interval) * interval;
        if (replaced.has(index) || last >= backAt) return [];
        return [sick(String(index), { lastFailedAt: last * 1_000, askedWithinMillis: interval * 1_000 })];
      });
      const isUnderWay = (since: number) => second < since + startup || (second < backAt && backAt < Infinity);
      const underWay = [...replaced.values()].filter(isUnderWay).length;
      const seen = { instances: intervals.length, maxReplacements: limit, underWay, waves, roomSince, sick: stillSick };
      const decision = decideReplacements(request(seen), second * 1_000);
      for (const id of decision.replace) replaced.set(Number(id), second);
      for (const { until = Infinity } of decision.waits) expect(until).toBeGreaterThan(second * 1_000);
      waves = decision.waves ?? waves;
      ({ roomSince } = decision);
    }
    return replaced;
  }

  const story = {
    intervals: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 60 }),
    limit: fc.integer({ min: 1, max: 10 }),
    startup: fc.integer({ min: 1, max: 20 }),
  };

  test('a dependency that is back costs no task but those that were being replaced', () =>
    fc.assert(
      fc.property(fc.record({ ...story, backAt: fc.integer({ min: 2, max: 100 }) }), (told) => {
        const replaced = [...replacedIn(told, told.backAt + 400).values()];
        const before = replaced.filter((second) => second < told.backAt).length;
        if (before >= told.limit) expect(replaced).toHaveLength(before);
      }),
    ));

  test('all are replaced in as few waves as the limit allows', () =>
    fc.assert(
      fc.property(fc.record(story), ({ intervals, limit, startup }) => {
        const waves = Math.ceil(intervals.length / limit);
        const longest = Math.max(...intervals) + startup + 1;
        let seconds = 0;
        for (let wave = 1; wave <= waves; wave++) seconds += pauseAfterWaves(wave) / 1_000 + longest;
        const replaced = replacedIn({ intervals, limit, startup, backAt: Infinity }, Math.min(20_000, seconds));
        if (seconds <= 20_000) expect(replaced.size).toBe(intervals.length);
      }),
    ));
});
