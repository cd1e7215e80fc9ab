import { type ClockTime, type ClockTimes, dayMillis, firstIndex, maxSteps, modulo, secondMillis } from './calendar.js';
import { type GivenDate, type Recurrence, unitSeconds } from './recurrence.js';
import { CalendarUnits, ClockUnits, type SearchBudget, type Unit, type Units } from './recurrence-units.js';

/** Counting begins at the start of the rule, so it may take longer than a search. */
const maxStepsWhenCounting = 50_000;

/** The clock readings that a recurrence rule names. */
export class RecurrenceTimes implements ClockTimes {
  readonly everyHour: boolean;
  private readonly start: ClockTime;
  private readonly countsAfter: ClockTime;
  private readonly units: Units;
  private readonly extraDates: readonly ClockTime[];
  private readonly isExcepted: (time: ClockTime) => boolean;

  /**
   * `countsAfter`: COUNT is of the runs after it, so that none of them has passed when the rule is saved. `clockOf`: what the
   * clocks of its zone show at a date that is written in UTC.
   */
  constructor(
    private readonly rule: Recurrence,
    { start, countsAfter }: { start: ClockTime; countsAfter: ClockTime },
    clockOf: (instant: number) => ClockTime,
  ) {
    this.start = start;
    this.countsAfter = countsAfter;
    this.everyHour = firesEveryHour(rule);
    this.units = unitSeconds[rule.frequency] ? new ClockUnits(rule, start) : new CalendarUnits(rule, start);
    const clock = (date: GivenDate): ClockTime => (date.isUtc ? clockOf(date.clock) : date.clock);
    this.extraDates = rule.extraDates.map(clock).toSorted((a, b) => a - b);
    this.isExcepted = exceptions(rule.exceptDates, clock);
  }

  after(time: ClockTime): ClockTime | undefined {
    const budget: SearchBudget = { left: maxSteps };
    for (let from = time; budget.left > 0;) {
      const found = earlier(this.afterByRule(from, budget), this.extraAfter(from));
      if (found === undefined || !this.isExcepted(found)) return found;
      from = found;
    }
    return undefined;
  }

  private extraAfter(time: ClockTime): ClockTime | undefined {
    return this.extraDates[firstIndex(this.extraDates.length, (index) => this.extraDates[index]! > time)];
  }

  private afterByRule(time: ClockTime, budget: SearchBudget): ClockTime | undefined {
    const from = Math.max(time, this.start - 1);
    for (const unit of this.units.from(from, budget)) {
      const index = indexAfter(unit, from);
      if (index < unit.size) return this.unlessOver(unit.at(index));
    }
    return undefined;
  }

  private unlessOver(found: ClockTime): ClockTime | undefined {
    const { count, untilClock } = this.rule;
    if (untilClock !== undefined && found > untilClock) return undefined;
    if (count === undefined) return found;
    // Of the minute in which it was saved, at most.
    const passed = this.countsAfter < this.start ? 0 : this.countUpTo(this.countsAfter, Number.POSITIVE_INFINITY);
    return this.countUpTo(found, passed + count) > passed + count ? undefined : found;
  }

  /** Number of times the rule has fired from its start up to `time`; more than `enough` need not be counted. */
  private countUpTo(time: ClockTime, enough: number): number {
    const budget: SearchBudget = { left: maxStepsWhenCounting };
    const { from, counted } = this.leapOverUniform(time);
    let count = counted;
    for (const unit of this.units.from(from, budget)) {
      const before = indexAfter(unit, this.start - 1);
      const upTo = indexAfter(unit, time);
      count += Math.max(upTo - before, 0);
      if (upTo < unit.size || count > enough) return count;
    }
    // It was not reached within reason: a rule with such a COUNT gets no further run.
    return Number.POSITIVE_INFINITY;
  }

  /** Units that are all alike need not be visited one by one. */
  private leapOverUniform(time: ClockTime): { from: ClockTime; counted: number } {
    if (!(this.units instanceof ClockUnits) || !this.units.isUniform) return { from: this.start, counted: 0 };
    const { first, length } = this.units;
    const { interval } = this.rule;
    const target = Math.floor(time / secondMillis / length);
    const second = first + interval;
    const last = target - modulo(target - first, interval);
    // The first unit may begin before the start, so it is left to be counted.
    if (last <= second) return { from: this.start, counted: 0 };
    const [firstUnit] = this.units.from(this.start, { left: 1 });
    const [another] = this.units.from(second * length * secondMillis, { left: 1 });
    const ofFirst = firstUnit!.size - indexAfter(firstUnit!, this.start - 1);
    const between = (last - second) / interval;
    return { from: last * length * secondMillis, counted: ofFirst + between * another!.size };
  }
}

const indexAfter = (unit: Unit, time: ClockTime): number => firstIndex(unit.size, (index) => unit.at(index) > time);

function earlier(a: ClockTime | undefined, b: ClockTime | undefined): ClockTime | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/** A date without a time of day excepts that whole day. */
function exceptions(dates: readonly GivenDate[], clock: (date: GivenDate) => ClockTime): (time: ClockTime) => boolean {
  const times = new Set(dates.filter(({ isWholeDay }) => !isWholeDay).map(clock));
  const days = new Set(dates.filter(({ isWholeDay }) => isWholeDay).map((date) => date.clock));
  return (time) => times.has(time) || days.has(time - modulo(time, dayMillis));
}

/** A rule that ends after a number of runs, or that names runs of its own, promises each of them once. */
function firesEveryHour(rule: Recurrence): boolean {
  const { frequency, interval, byHour, byMinute, bySecond, bySetPos } = rule;
  if (rule.count !== undefined || rule.extraDates.length > 0) return false;
  if (byHour !== undefined && byHour.length < 24) return false;
  const unit = unitSeconds[frequency];
  if (unit === undefined) return byHour !== undefined && bySetPos === undefined;
  const isLimited = frequency !== 'HOURLY' && (byMinute !== undefined || bySecond !== undefined);
  return unit * interval <= 3_600 && (interval === 1 || !isLimited);
}
