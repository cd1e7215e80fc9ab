import fc from 'fast-check';
import { missedRunPolicies, overlapPolicies } from '../../../src/core/model/enums.js';
import type { Request } from '../../../src/core/model/request.js';
import { timingProblems } from '../../../src/core/request-validation/index.js';
import { deriveQuartz } from '../../../src/core/schedules/index.js';
import { textOf, type WallRule } from './wall-clock.js';
import { type Absence, day, hour, minute, random, yearBegins, yearEnds, type YearCase } from './year-case.js';

/** Clocks change in both halves of the world: by an hour, by half an hour, at midnight, and not at all. */
const zones = [
  'Europe/Paris',
  'America/New_York',
  'America/St_Johns',
  'Africa/Cairo',
  'Australia/Sydney',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Pacific/Auckland',
  'Asia/Kolkata',
  'UTC',
];

/** Leaders of a year, which all its requests share: each dies at a random moment, and the next one comes after a random time. */
export function drawAbsences(seed: number): Absence[] {
  const draw = random(seed, 1);
  const absences: Absence[] = [];
  for (let time = yearBegins; ;) {
    time += Math.ceil(-Math.log(1 - draw()) * 40 * hour) + minute;
    // Many requests are due at full hours, and so die in the middle of a pass.
    const isInPass = draw() < 0.5;
    const from = isInPass ? Math.round(time / (30 * minute)) * 30 * minute : Math.floor(time / minute) * minute + 11;
    const lengths = [3_001, 40_003, 5 * minute + 7, 3 * hour + 17, 30 * hour + 19];
    const to = from + lengths[Math.floor(draw() ** 2 * lengths.length)]!;
    if (to >= yearEnds) return absences;
    if (from > yearBegins && from > (absences.at(-1)?.to ?? 0))
      absences.push({ from, to, diesAfterLook: isInPass && draw() < 0.5 });
    time = to;
  }
}

type Kind = 'daily' | 'weekly' | 'monthly' | 'hours' | 'hourly' | 'minutes' | 'seconds';
/** Shortest time between two runs of a kind, which the lengths of its runs go by. */
const intervals: Record<Kind, number> = {
  daily: 12 * hour,
  weekly: 2 * day,
  monthly: 4 * day,
  hours: 3 * hour,
  hourly: hour,
  minutes: 15 * minute,
  seconds: 5_000,
};

const isFrequentKind = (kind: Kind): boolean => kind === 'hourly' || kind === 'minutes' || kind === 'seconds';

const kinds = fc.oneof(
  { weight: 40, arbitrary: fc.constant<Kind>('daily') },
  { weight: 36, arbitrary: fc.constant<Kind>('weekly') },
  { weight: 8, arbitrary: fc.constant<Kind>('monthly') },
  { weight: 10, arbitrary: fc.constant<Kind>('hours') },
  { weight: 3, arbitrary: fc.constant<Kind>('hourly') },
  { weight: 1, arbitrary: fc.constant<Kind>('minutes') },
  { weight: 8, arbitrary: fc.constant<Kind>('seconds') },
);

/** Hours at which clocks are changed come often. */
const hours = fc.oneof(fc.constantFrom(0, 1, 2, 3), fc.integer({ min: 0, max: 23 }));
const minutes = fc.constantFrom(0, 0, 15, 30, 45);
const some = <T>(value: fc.Arbitrary<T>, share = 0.5): fc.Arbitrary<T | undefined> =>
  fc.integer({ min: 0, max: 99 }).chain((drawn) => (drawn < share * 100 ? value : fc.constant(undefined)));
const weekdays = fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 2 });

const every = (step: number): number[] => Array.from({ length: 60 / step }, (_, index) => index * step);

function rulesOf(kind: Kind): fc.Arbitrary<Omit<WallRule, 'zone'>> {
  const minute_ = minutes.map((value) => [value]);
  switch (kind) {
    case 'daily':
      return fc.record({ minutes: minute_, hours: fc.uniqueArray(hours, { minLength: 1, maxLength: 1 }) });
    case 'weekly':
      return fc.record({ minutes: minute_, hours: fc.uniqueArray(hours, { minLength: 1, maxLength: 1 }), weekdays });
    case 'monthly':
      return fc.record({
        minutes: minute_,
        hours: fc.uniqueArray(hours, { minLength: 1, maxLength: 1 }),
        monthDays: fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { minLength: 1, maxLength: 2 }),
      });
    case 'hours':
      return fc.record({ minutes: minute_, hours: fc.uniqueArray(hours, { minLength: 2, maxLength: 4 }), weekdays });
    case 'hourly':
      return fc.record({ minutes: minute_, hours: fc.constant('EVERY' as const) });
    case 'minutes':
      return fc.record({ minutes: fc.constant([0, 15, 30, 45]), hours: fc.constant('EVERY' as const) });
    case 'seconds':
      return fc.record({
        seconds: fc.constantFrom(every(1), every(5), every(5), every(20)),
        minutes: fc.constant(every(1)),
        hours: fc.constant('EVERY' as const),
      });
  }
}

const spans = (count: number, lengths: readonly number[]): fc.Arbitrary<{ from: number; to: number }[]> =>
  fc
    .array(fc.record({ at: fc.integer({ min: 1, max: 365 * 24 * 60 - 1 }), length: fc.constantFrom(...lengths) }), {
      maxLength: count,
    })
    .map((drawn) => {
      const found: { from: number; to: number }[] = [];
      for (const { at, length } of drawn.toSorted((a, b) => a.at - b.at)) {
        const from = yearBegins + at * minute + 23;
        if (from > (found.at(-1)?.to ?? 0)) found.push({ from, to: from + length + 29 });
      }
      return found;
    });

const retries = fc
  .record({
    attempts: fc.integer({ min: 1, max: 3 }),
    delayMillis: fc.constantFrom(0, 2 * minute, 40 * minute, 5 * hour),
    backoffFactor: fc.constantFrom(1, 3),
    jitter: fc.constantFrom(0, 0.5),
    maxDelayMillis: some(fc.constant(6 * hour), 0.3),
    codes: fc.constantFrom('all', 'on', 'notOn'),
    onTimeLimit: some(fc.boolean()),
    onLost: some(fc.boolean()),
  })
  .map(({ codes, delayMillis, backoffFactor, jitter, maxDelayMillis, ...rest }) => ({
    ...rest,
    ...(delayMillis > 0 && { delayMillis, backoffFactor, jitter }),
    ...(delayMillis > 0 && backoffFactor > 1 && { maxDelayMillis }),
    ...(codes === 'on' && { onExitCodes: [1, 2] }),
    ...(codes === 'notOn' && { notOnExitCodes: [75] }),
  }));

/** One request of a year, and what befalls it. */
export const anyRequestYear = (absences: readonly Absence[]): fc.Arbitrary<YearCase> =>
  kinds
    .chain((kind) =>
      fc.record({
        kind: fc.constant(kind),
        id: fc.stringMatching(/^[a-z]{3,10}$/),
        zone: fc.constantFrom(...zones),
        rules: fc.array(
          fc.record({
            rule: rulesOf(kind),
            zone: some(fc.constantFrom(...zones), 0.3),
            notation: fc.constantFrom('CRON', 'CRON', 'QUARTZ', 'RFC5545'),
          }),
          {
            minLength: 1,
            maxLength: isFrequentKind(kind) ? 1 : 2,
          },
        ),
        hash: some(fc.constantFrom('H', 'H(10-40)'), 0.15),
        overlapPolicy: some(fc.constantFrom(...overlapPolicies), 0.8),
        policy: some(fc.constantFrom(...missedRunPolicies), 0.6),
        withinMillis: some(fc.constantFrom(10_000, 30_000, 20 * minute, 3 * hour, 4 * day), 0.4),
        jitter: some(fc.constantFrom(10_000, hour, day), 0.3),
        instances: fc.integer({ min: 2, max: 3 }),
        maxRuns: some(fc.integer({ min: 1, max: 200 }), 0.15),
        bounds: fc.record({
          start: some(fc.integer({ min: 1, max: 200 }), 0.2),
          length: some(fc.integer({ min: 20, max: 200 }), 0.2),
        }),
        exclusion: some(
          fc.record({
            hour: hours,
            weekday: some(weekdays),
            durationMillis: fc.constantFrom(45 * minute, 5 * hour, 2 * day),
          }),
          0.3,
        ),
        closedDays: spans(2, [5 * hour, 12 * day]),
        isClosed: fc.boolean(),
        retry: some(retries, 0.4),
        numRetriesOnFailure: some(fc.integer({ min: 1, max: 2 }), 0.3),
        pauseAfterFailures: some(fc.integer({ min: 1, max: 4 }), 0.2),
        pauses: spans(5, [10 * minute, 5 * hour, 3 * day, 20 * day]),
        full: spans(6, [2 * minute, 50 * minute, 9 * hour, 2 * day]),
        lengths: fc.array(fc.constantFrom(0.003, 0.3, 0.9, 1.3, 2.6), { minLength: 1, maxLength: 3 }),
        failing: fc.constantFrom(0, 5, 40),
        lost: fc.constantFrom(0, 3),
        seed: fc.nat(),
      }),
    )
    .map((drawn) => yearOf(drawn, absences))
    .filter(({ request }) => timingProblems(request, { now: yearBegins }).length === 0);

function yearOf(
  drawn: {
    kind: Kind;
    id: string;
    zone: string;
    rules: { rule: Omit<WallRule, 'zone'>; zone?: string; notation: 'CRON' | 'QUARTZ' | 'RFC5545' }[];
    hash?: string;
    overlapPolicy?: (typeof overlapPolicies)[number];
    policy?: (typeof missedRunPolicies)[number];
    withinMillis?: number;
    jitter?: number;
    instances: number;
    maxRuns?: number;
    bounds: { start?: number; length?: number };
    exclusion?: { hour: number; weekday?: number[]; durationMillis: number };
    closedDays: { from: number; to: number }[];
    isClosed: boolean;
    retry?: Request['retry'];
    numRetriesOnFailure?: number;
    pauseAfterFailures?: number;
    pauses: { from: number; to: number }[];
    full: { from: number; to: number }[];
    lengths: number[];
    failing: number;
    lost: number;
    seed: number;
  },
  absences: readonly Absence[],
): YearCase {
  const { kind, id, zone, exclusion } = drawn;
  const rules: WallRule[] = [];
  const schedules = drawn.rules.map(({ rule, zone: own, notation }, index) => {
    const isQuartz = rule.seconds !== undefined;
    const type = isQuartz ? 'QUARTZ' : rule.hours === 'EVERY' && notation === 'RFC5545' ? 'CRON' : notation;
    const hash = index === 0 && type === 'CRON' && rule.minutes.length === 1 ? drawn.hash : undefined;
    const schedule = textOf({ ...rule, zone }, type, hash);
    const minutesOfRule = hash ? [hashedMinute(schedule, id, hash)] : rule.minutes;
    const since = type === 'RFC5545' ? Math.floor(yearBegins / minute) * minute : undefined;
    rules.push({ ...rule, minutes: minutesOfRule, zone: own ?? zone, since });
    return { schedule, scheduleType: type, ...(own && { scheduleTimeZone: own }) };
  });
  const closedRule = exclusion && { minutes: [0], hours: [exclusion.hour], weekdays: exclusion.weekday, zone };
  // A window of days closes at most twice a week.
  const isLong = exclusion && exclusion.durationMillis > day;
  const closed =
    exclusion && closedRule
      ? [
          {
            rule: isLong ? { ...closedRule, weekdays: closedRule.weekdays ?? [5] } : closedRule,
            durationMillis: exclusion.durationMillis,
          },
        ]
      : [];
  const exclusions = [
    ...closed.map(({ rule, durationMillis }) => ({ schedule: textOf(rule, 'CRON'), durationMillis })),
    ...(drawn.isClosed ? drawn.closedDays : []),
  ];
  const isFrequent = isFrequentKind(kind);
  const spree = kind === 'seconds' ? drawSpree(drawn.seed, absences) : undefined;
  // What runs often does so around a change of clocks.
  const startAt =
    spree?.from ??
    (isFrequent
      ? Date.parse(['2026-03-20T00:00:00Z', '2026-10-20T00:00:00Z'][drawn.seed % 2]!)
      : drawn.bounds.start && yearBegins + drawn.bounds.start * day);
  const length = isFrequent ? (kind === 'hourly' ? 25 : 9) : drawn.bounds.length;
  const endAt = spree?.to ?? (length && (startAt ?? yearBegins) + length * day);
  const { overlapPolicy, policy, withinMillis, jitter } = drawn;
  const single = schedules.length === 1 ? schedules[0]! : undefined;
  const request: Request = {
    id,
    requestType: 'SCHEDULED',
    scheduleTimeZone: zone,
    ...(single ? { schedule: single.schedule, scheduleType: single.scheduleType } : { schedules }),
    ...(single?.scheduleTimeZone && { scheduleTimeZone: single.scheduleTimeZone }),
    overlapPolicy,
    missedRuns: policy && { policy, withinMillis },
    scheduleJitterMillis: jitter,
    instances: overlapPolicy === 'ALLOW' ? drawn.instances : undefined,
    maxRuns: drawn.maxRuns,
    startAt,
    endAt,
    exclusions: exclusions.length > 0 ? exclusions : undefined,
    retry: drawn.retry,
    numRetriesOnFailure: drawn.retry ? undefined : drawn.numRetriesOnFailure,
    pauseAfterFailures: drawn.pauseAfterFailures,
    // Runs that go on through a pause are left to their ends.
    killOldNonLongRunningTasksAfterMillis: 300 * day,
  };
  if (single?.scheduleTimeZone) for (const { rule } of closed) rule.zone = single.scheduleTimeZone;
  const unit = spree ? 1_001 : 60_013;
  const runMillis = drawn.lengths.map(
    (share) => Math.ceil((share * intervals[kind]) / (spree ? 1_000 : minute)) * unit,
  );
  const { failing, lost, seed } = drawn;
  // Failures that come in seconds would begin a cooldown.
  if (spree) return { request, rules, closed, absences, ...spree, runMillis, failing: 0, lost: 0, seed };
  const { pauses, full } = drawn;
  return { request, rules, closed, absences, pauses, full, runMillis, failing, lost, seed };
}

/** Minutes in which something runs every few seconds, around the death of a leader, with pauses and full machines of their size. */
function drawSpree(seed: number, absences: readonly Absence[]) {
  const draw = random(seed, 2);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(draw() * values.length)]!;
  const known = absences.filter((absence) => absence.from > yearBegins + day);
  const absence = known.length > 0 ? pick(known) : { from: yearBegins + day, to: yearBegins + day };
  const from = Math.floor(absence.from / 1_000) * 1_000 - pick([30_000, 2 * minute]);
  // Some end while no one leads, or while they are paused.
  const to = absence.from + pick([25_000, 7 * minute, 12 * minute]);
  const inside = (lengths: readonly number[]) => {
    const begin = from + Math.floor((draw() * (to - from)) / 1_000) * 1_000 + 23;
    return draw() < 0.6 ? [{ from: begin, to: begin + pick(lengths) + 29 }] : [];
  };
  return {
    from,
    to,
    pauses: inside([30_000, 75_000, 4 * minute, 12 * minute]),
    full: inside([20_000, 90_000, 5 * minute]),
  };
}

/** What an `H` stands for is told in `quartzSchedule`. */
function hashedMinute(schedule: string, id: string, hash: string): number {
  const derived = deriveQuartz(schedule, id);
  if ('error' in derived) throw new Error(derived.error);
  const found = Number(derived.quartz.split(' ')[1]);
  const [first, last] = hash === 'H' ? [0, 59] : [10, 40];
  if (!(found >= first && found <= last)) throw new Error(`${hash} of ${id} is ${found}`);
  return found;
}
