import { canonical } from '../content-id.js';
import { type FieldError, problem } from '../field-error.js';
import type { Request } from '../model/request.js';
import {
  isOver,
  nextTime,
  plansAhead,
  readSchedule,
  readTimetable,
  type Timetable,
  timetableMembers,
  zoned,
} from '../schedules/index.js';

/** A day. */
export const longestJitterMillis = 86_400_000;

interface TimingContext {
  stored?: Request;
  now?: number;
  isOlder?: boolean;
}

type Rule = (request: Request) => FieldError[];

/** Everything wrong with the times of a SCHEDULED request. */
export function timingProblems(request: Request, context: TimingContext): FieldError[] {
  const errors = rules.flatMap((rule) => rule(request));
  const timetable = readTimetable(request);
  if ('errors' in timetable) return [...errors, ...timetable.errors];
  return errors.length > 0 ? errors : futureRule(request, timetable, context);
}

/** What is accepted and may be a mistake: an offset that is longer than the time between two runs, an exclusion that is over. */
export function timingWarnings(request: Request, now: number): string[] {
  if (request.requestType !== 'SCHEDULED') return [];
  const timetable = readTimetable(request);
  if ('errors' in timetable) return [];
  const over = timetable.exclusions.flatMap((exclusion, index) => (isOver(exclusion, now) ? [index] : []));
  return [
    ...jitterWarning(request, timetable, now),
    ...over.map((index) => `exclusions.${index} is over: it excludes no time`),
  ];
}

function jitterWarning({ scheduleJitterMillis: jitter }: Request, timetable: Timetable, now: number): string[] {
  if (jitter === undefined) return [];
  const first = nextTime(timetable, now);
  const second = first === undefined ? undefined : nextTime(timetable, first);
  if (first === undefined || second === undefined || second - first >= jitter) return [];
  return [`scheduleJitterMillis ${jitter} is longer than the ${second - first} ms between its next two runs`];
}

const rules: readonly Rule[] = [
  schedulesRule,
  ({ overlapPolicy, instances = 1 }) =>
    overlapPolicy === 'ALLOW' && instances < 2
      ? problem(
          'overlapPolicy',
          'instances',
          'overlapPolicy ALLOW needs instances of at least 2: so many runs go on at once',
        )
      : [],
  missedRunsRule,
  restRule,
  ({ scheduleJitterMillis: jitter }) => {
    if (jitter === undefined) return [];
    if (jitter < 1) return problem('scheduleJitterMillis', 'min', 'scheduleJitterMillis must be at least 1');
    return jitter > longestJitterMillis
      ? problem('scheduleJitterMillis', 'max', `scheduleJitterMillis must be at most ${longestJitterMillis} (a day)`)
      : [];
  },
  ({ startAt, endAt }) =>
    startAt !== undefined && endAt !== undefined && endAt < startAt
      ? problem('endAt', 'after', 'endAt must not be before startAt')
      : [],
  ({ maxRuns }) =>
    maxRuns !== undefined && maxRuns < 1 ? problem('maxRuns', 'min', 'maxRuns must be at least 1') : [],
];

function schedulesRule(request: Request): FieldError[] {
  const { id, schedules, scheduleTimeZone } = request;
  if (schedules === undefined) return [];
  const short = (['schedule', 'quartzSchedule', 'scheduleType'] as const).find((field) => request[field] !== undefined);
  if (short) return problem('schedules', 'consistent', `schedules is not allowed beside ${short}: it takes its place`);
  // By their times: expressions of one meaning may be spelled differently, and name or inherit their zone.
  const texts = schedules.map((entry) => {
    const read = readSchedule({ ...zoned(entry, scheduleTimeZone), id });
    if ('errors' in read) return canonical(entry);
    return canonical([read.timeZone, read.type === 'QUARTZ' ? read.schedule : read.recurrence]);
  });
  const twice = texts.findIndex((text, index) => texts.indexOf(text) < index);
  if (twice < 0) return [];
  return problem(`schedules.${twice}`, 'unique', `schedules.${twice} says the same as one before it`);
}

function missedRunsRule({ missedRuns, overlapPolicy = 'SKIP' }: Request): FieldError[] {
  if (missedRuns === undefined) return [];
  const { policy, withinMillis } = missedRuns;
  if (withinMillis !== undefined && withinMillis < 1) {
    return problem('missedRuns.withinMillis', 'min', 'missedRuns.withinMillis must be at least 1');
  }
  if (policy !== 'ALL' || (overlapPolicy !== 'BUFFER_ONE' && overlapPolicy !== 'REPLACE')) return [];
  const message = `missedRuns.policy ALL is not allowed with overlapPolicy ${overlapPolicy}, which keeps one run of them`;
  return problem('missedRuns.policy', 'consistent', message);
}

/** A rest counts from the end of a run, and plans the next one then. */
function restRule(request: Request): FieldError[] {
  const field = 'waitAtLeastMillisAfterTaskFinishesForReschedule';
  if (!request[field] || !plansAhead(request)) return [];
  const other = request.missedRuns === undefined ? `overlapPolicy ${request.overlapPolicy}` : 'missedRuns';
  return problem(
    field,
    'consistent',
    `${field} is not allowed with ${other}, which plans the next run before one ends`,
  );
}

/** One that is stored may be over: other members of its request can still be changed. */
function futureRule(request: Request, timetable: Timetable, { stored, now, isOlder }: TimingContext): FieldError[] {
  const isStored = timetableMembers.every(
    (field) => canonical(request[field] ?? null) === canonical(stored?.[field] ?? null),
  );
  if (now === undefined || isOlder || isStored || nextTime(timetable, now) !== undefined) return [];
  const unlimited = { ...timetable, endAt: Number.POSITIVE_INFINITY };
  if (timetable.exclusions.length > 0 && nextTime({ ...timetable, exclusions: [] }, now) !== undefined) {
    return problem('exclusions', 'future', 'exclusions leave no future time: it would never run');
  }
  if (request.endAt !== undefined && nextTime(unlimited, now) !== undefined) {
    const last = new Date(request.endAt).toISOString();
    return problem('endAt', 'future', `endAt ${last} leaves no future time: it would never run`);
  }
  if (request.schedules !== undefined) {
    return problem('schedules', 'future', 'schedules have no future time: it would never run');
  }
  const field = request.schedule === undefined ? 'quartzSchedule' : 'schedule';
  return problem(field, 'future', `${field} '${request[field]}' has no future time: it would never run`);
}
