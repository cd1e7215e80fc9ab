import { decideAutoscale } from '../../src/core/autoscale/index.js';
import type { Autoscale, AutoscaleState } from '../../src/core/model/autoscale.js';

/* A simulated week of autoscaling: calls per second with daily peaks, spikes, a gap of the metric, leaders that die, and people. */

export const weekSpec: Autoscale = {
  min: 2,
  max: 20,
  metric: 'HTTP',
  target: 50,
  uri: 'http://load.example.com',
  stepLimit: 4,
};

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const everyMillis = 15 * second;
const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** A time in the week: the number of its day, from Monday, and the hour. */
const at = (dayOfWeek: (typeof days)[number], hours: number): number => days.indexOf(dayOfWeek) * day + hours * hour;
const isWithin = (now: number, from: number, millis: number): boolean => now >= from && now < from + millis;

/** Calls per second: most at two in the afternoon, half of it at weekends, a ripple of minutes, and two spikes. */
function loadAt(now: number): number {
  const weekend = now >= at('Saturday', 0) ? 0.5 : 1;
  const ofDay = Math.max(0, Math.sin(((now % day) / day) * 2 * Math.PI - (2 * Math.PI * 8) / 24));
  const ripple = 1 + 0.08 * Math.sin((now / (7 * minute)) * 2 * Math.PI);
  const spike = isWithin(now, at('Tuesday', 22), 10 * minute)
    ? 600
    : isWithin(now, at('Friday', 12), 20 * minute)
      ? 900
      : 0;
  return Math.round((40 + 560 * ofDay * weekend) * ripple + spike);
}

/** What a person, or something else, does to the request. */
const hasGap = (now: number): boolean => isWithin(now, at('Wednesday', 18), 90 * minute);
const hasDeploy = (now: number): boolean => isWithin(now, at('Thursday', 9), 30 * minute);
const isScaledByPerson = (now: number): boolean => isWithin(now, at('Saturday', 20), 2 * hour);
const scaleOfPerson = 12;
/** A leader dies every five hours, between the metric and the commit; the next one looks twenty seconds later. */
const leaderLives = 5 * hour;
const takeover = 20 * second;
/** All schedulers are down for half an hour. */
const isDown = (now: number): boolean => isWithin(now, at('Thursday', 20), 30 * minute);

export interface DayOfWeek {
  day: string;
  peak: number;
  fewest: number;
  most: number;
  /** Decisions that added and removed instances. */
  up: number;
  down: number;
  /** Minutes in which the instances had more than the target to take. */
  busyMinutes: number;
  instanceHours: number;
}

export interface Week {
  days: DayOfWeek[];
  /** Every scale, in its order. */
  scales: { at: number; from: number; to: number; load: number }[];
  deaths: number;
  looks: number;
}

export function simulateWeek(): Week {
  const week: Week = { days: [], scales: [], deaths: 0, looks: 0 };
  let state: AutoscaleState | undefined;
  let instances = weekSpec.min;
  let before: number | undefined;
  let nextLook = 0;
  let nextDeath = leaderLives;
  for (let now = 0; now < 7 * day; now += 5 * second) {
    const today = (week.days[Math.floor(now / day)] ??= newDay(now));
    const load = loadAt(now);
    if (isScaledByPerson(now) && before === undefined) [before, instances] = [instances, scaleOfPerson];
    if (!isScaledByPerson(now) && before !== undefined) [instances, before] = [before, undefined];
    if (now >= nextLook && !isDown(now)) {
      const hold = hasDeploy(now) ? 'a deploy' : isScaledByPerson(now) ? 'a scale for a while' : undefined;
      const measured = hasGap(now) ? { problem: 'no answer within 5000 ms' } : { value: load };
      const decided = decideAutoscale(weekSpec, { instances, hold, measured }, state, now, everyMillis);
      if (now >= nextDeath) {
        // Nothing of the decision was committed.
        week.deaths += 1;
        nextDeath += leaderLives;
        nextLook = now + takeover;
      } else {
        week.looks += 1;
        nextLook = now + everyMillis;
        state = decided.state;
        if (decided.to !== undefined) {
          week.scales.push({ at: now, from: instances, to: decided.to, load });
          if (decided.to > instances) today.up += 1;
          else today.down += 1;
          instances = decided.to;
        }
      }
    }
    count(today, load, instances);
  }
  return week;
}

const newDay = (now: number): DayOfWeek => ({
  day: days[Math.floor(now / day)]!,
  peak: 0,
  fewest: Number.POSITIVE_INFINITY,
  most: 0,
  up: 0,
  down: 0,
  busyMinutes: 0,
  instanceHours: 0,
});

/** Five seconds of the day. */
function count(today: DayOfWeek, load: number, instances: number): void {
  today.peak = Math.max(today.peak, load);
  today.fewest = Math.min(today.fewest, instances);
  today.most = Math.max(today.most, instances);
  if (load > instances * weekSpec.target * 1.1) today.busyMinutes += 5 / 60;
  today.instanceHours += (instances * 5) / 3_600;
}

/** Rows of the table of docs/autoscaling.md. */
export const weekTable = ({ days: rows }: Week): string[] =>
  rows.map(
    ({ day: name, peak, fewest, most, up, down, busyMinutes, instanceHours }) =>
      `| ${[name, peak, `${fewest} to ${most}`, up, down, busyMinutes.toFixed(1), Math.round(instanceHours)].join(' | ')} |`,
  );

/** Scales between two times, as "22:00:15 2 to 6". */
export const scalesWithin = ({ scales }: Week, from: number, millis: number): string[] =>
  scales
    .filter((scale) => isWithin(scale.at, from, millis))
    .map((scale) => `${new Date(scale.at).toISOString().slice(11, 19)} ${scale.from} to ${scale.to}`);

export const spikeOnTuesday = at('Tuesday', 22);
