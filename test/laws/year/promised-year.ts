import { Closed, namedTimes } from './promised-times.js';
import { type Run, type Told, triedAgainAt } from './promised-tries.js';
import {
  graceMillis,
  lifeOf,
  minute,
  repairMillis,
  spanAt,
  type Start,
  yearBegins,
  yearEnds,
  type YearCase,
} from './year-case.js';

/** A planned time that has come and has no run yet. */
interface Waiting {
  at: number;
  /** It waits for the end of another run, and keeps its place. */
  kept: boolean;
  /** It comes before those that are in time. */
  isFirst: boolean;
  excluded: boolean;
  /** It passed without a leader or in a pause, and was not the next one that was planned. */
  unseen: boolean;
}

/**
 * The runs that the pages on schedules promise. A second model, written from the pages and not from the code: it knows no rows, no queue
 * and no pending tasks, but a list of times that is gone through once.
 */
export function promisedYear(given: YearCase, told: Told): Start[] {
  return new Promises(given, told).starts();
}

class Promises {
  private readonly found: Start[] = [];
  private readonly named: number[];
  private readonly closed: Closed;
  /** Moments that are known before; those of runs come up as they go. */
  private readonly moments: number[];
  private later: number[] = [];
  private readonly orders: { at: number; isPause: boolean }[];
  private isPaused = false;
  /** The first of the times that were not decided about. */
  private next = 0;
  /** The next run, which is planned before its time comes. */
  private planned: number | undefined;
  private waiting: Waiting[] = [];
  private runs: Run[] = [];
  private begun = 0;
  private failures = 0;

  private readonly policy: 'LAST' | 'SKIP' | 'ALL' | undefined;
  private readonly overlap: 'SKIP' | 'ALLOW' | 'BUFFER_ONE' | 'BUFFER_ALL' | 'REPLACE';
  /** No run starts later than this after its time. */
  private readonly within: number;
  private readonly lateAfter: number;
  private readonly slots: number;
  private readonly most: number;
  private readonly makesUpExcluded: boolean;
  /** The next run is planned while one goes on. */
  private readonly plansAhead: boolean;

  constructor(
    private readonly given: YearCase,
    private readonly told: Told,
  ) {
    const { request, absences, full, pauses } = given;
    const { missedRuns, overlapPolicy = 'SKIP', maxRuns = Number.POSITIVE_INFINITY } = request;
    this.policy = missedRuns?.policy;
    this.overlap = overlapPolicy;
    this.within = missedRuns?.withinMillis ?? (this.policy === 'SKIP' ? minute : Number.POSITIVE_INFINITY);
    this.lateAfter = this.policy === 'SKIP' ? this.within : Math.min(this.within, minute);
    this.slots = overlapPolicy === 'ALLOW' ? request.instances! : 1;
    this.most = maxRuns;
    this.makesUpExcluded = this.policy === 'LAST' || this.policy === 'ALL';
    this.plansAhead = this.policy !== undefined || overlapPolicy !== 'SKIP';
    this.named = namedTimes(given, told.offsetMillis);
    this.closed = new Closed(given);
    this.orders = pauses.flatMap(({ from, to }) => [
      { at: from, isPause: true },
      { at: to, isPause: false },
    ]);
    const deadlines = Number.isFinite(this.within) ? this.named.map((at) => at + this.within + 1) : [];
    // By default, and by LAST, one that is missed gives way to a newer one.
    if (this.policy === undefined || this.policy === 'LAST')
      deadlines.push(...this.named.map((at) => at + this.lateAfter + 1));
    const others = [...absences, ...full].map(({ to }) => to);
    const all = [yearBegins, ...this.named, ...deadlines, ...others, ...this.closed.ends()];
    this.moments = [...all, ...this.orders.map(({ at }) => at)].filter((at) => at >= yearBegins).sort((a, b) => a - b);
  }

  starts(): Start[] {
    let index = 0;
    for (let now = yearBegins; now <= yearEnds;) {
      this.live(now);
      while (this.moments[index]! <= now) index += 1;
      const soon = this.later.filter((at) => at > now);
      this.later = soon;
      now = Math.min(this.moments[index] ?? Number.POSITIVE_INFINITY, ...soon);
    }
    return this.found;
  }

  private live(now: number): void {
    while (this.orders.length > 0 && this.orders[0]!.at <= now) this.obey(this.orders.shift()!.isPause, now);
    const absence = spanAt(this.given.absences, now);
    const dies = absence?.diesAfterLook && absence.from === now;
    if (absence && !dies) return;
    this.seeEnds(now);
    if (this.isPaused) {
      for (const run of this.runs) if (run.readyAt === undefined) run.sawPause = true;
      // What waits to be tried again is dropped; so is what was planned.
      this.runs = this.runs.filter(({ readyAt }) => readyAt === undefined);
      return;
    }
    if (this.plansAhead) this.decide(now);
    else this.decideInTurn(now);
    if (!dies) this.start(now);
  }

  private obey(isPause: boolean, now: number): void {
    if (isPause === this.isPaused) return;
    if (isPause) this.pause();
    else {
      this.isPaused = false;
      // None follows a pause by itself.
      if (this.policy === undefined) while (this.named[this.next]! <= now) this.next += 1;
    }
  }

  /** Times that wait, and those after the first of them, are decided about at its end: by `missedRuns`. */
  private pause(): void {
    this.isPaused = true;
    this.planned = undefined;
    const [first] = this.waiting;
    if (first && this.policy !== undefined) this.next = this.named.indexOf(first.at);
    this.waiting = [];
  }

  private seeEnds(now: number): void {
    const ended = this.runs.filter(({ readyAt, end }) => readyAt === undefined && end <= now);
    for (const run of ended.toSorted((a, b) => a.end - b.end)) {
      const again = this.isPaused ? undefined : triedAgainAt(run, this.given.request, this.told, now);
      if (again !== undefined) {
        run.readyAt = again;
        this.later.push(again);
        continue;
      }
      this.runs = this.runs.filter((other) => other !== run);
      this.count(run, now);
    }
  }

  /** So many runs in a row that fail pause the request. One that someone told to go says nothing. */
  private count({ how, isReplaced, sawPause }: Run, now: number): void {
    if (how.kind === 'FINISHED') this.failures = 0;
    else if (!this.isPaused && !isReplaced && (!sawPause || how.kind === 'TIME_LIMIT')) this.failures += 1;
    else return;
    if (this.failures < (this.given.request.pauseAfterFailures ?? Number.POSITIVE_INFINITY)) return;
    this.failures = 0;
    this.pause();
    this.orders.push({ at: now + repairMillis, isPause: false });
    this.orders.sort((a, b) => a.at - b.at);
    this.later.push(now + repairMillis);
  }

  /** The next run is planned when none goes on, and stays planned until it starts. */
  private decideInTurn(now: number): void {
    if (this.runs.length > 0 || this.waiting.length > 0) return;
    if (this.planned === undefined) {
      while (this.named[this.next]! <= now) this.next += 1;
      this.planned = this.plannedAfter(now);
    }
    if (this.planned === undefined || this.planned > now) return;
    this.waiting = [{ at: this.planned, kept: true, isFirst: true, excluded: false, unseen: false }];
  }

  private decide(now: number): void {
    const active = this.runs.filter(({ readyAt }) => readyAt === undefined);
    const occupied = this.overlap === 'REPLACE' ? active.length : this.runs.length;
    const free = Math.max(0, this.slots - occupied);
    this.collect(now);
    this.leaveOutLate(now, free > 0);
    if (this.overlap === 'REPLACE') this.replace(active, free, now);
    else this.keepInTurn(free);
    this.waiting = this.waiting.slice(0, Math.max(0, this.most - this.begun));
    this.planned = this.plannedAfter(now);
  }

  /** The next time outside of all windows, for which a run may begin beside those that wait. */
  private plannedAfter(now: number): number | undefined {
    if (this.begun + this.waiting.length >= this.most) return undefined;
    for (let index = this.next; index < this.named.length; index++) {
      const at = this.named[index]!;
      if (at > now && this.closed.until(at) === undefined) return at;
    }
    return undefined;
  }

  /** Times that have come since the last look. */
  private collect(now: number): void {
    for (; this.next < this.named.length && this.named[this.next]! <= now; this.next++) {
      const at = this.named[this.next]!;
      const until = this.closed.until(at);
      // What lies in a window is decided about when it is over.
      if (until !== undefined && this.makesUpExcluded && until > now) return;
      if (until !== undefined && !this.makesUpExcluded) continue;
      this.waiting.push({
        at,
        kept: false,
        isFirst: false,
        excluded: until !== undefined,
        unseen: at !== this.planned,
      });
    }
  }

  private leaveOutLate(now: number, isIdle: boolean): void {
    const isEach = this.policy === 'ALL';
    // Where each counts, one that passed a moment ago is one of those that are made up for.
    const all = isEach && (isIdle || this.overlap === 'BUFFER_ALL') && this.waiting.some(({ unseen }) => unseen);
    const isLate = ({ at, kept, excluded }: Waiting): boolean =>
      !kept && (excluded || now - at > this.lateAfter || all);
    const isInTime = (one: Waiting): boolean => !one.kept && !isLate(one);
    const late = this.waiting.filter((one) => isLate(one) && now - one.at <= this.within);
    // The newest 100, those that keep their places among them.
    const places = 100 - this.waiting.filter(({ kept }) => kept).length;
    const made = isEach ? late.slice(Math.max(0, late.length - places)) : [];
    for (const one of this.waiting) one.isFirst = one.kept || made.includes(one);
    const isLast = this.policy === undefined || this.policy === 'LAST';
    const last = isLast ? this.waiting.findLast((one) => isInTime(one) || late.includes(one)) : undefined;
    this.waiting = this.waiting.filter((one) => one.isFirst || isInTime(one) || one === last);
    for (const one of this.waiting) one.unseen = false;
  }

  private keepInTurn(free: number): void {
    const more = this.overlap === 'BUFFER_ONE' ? 1 : this.overlap === 'BUFFER_ALL' ? 100 : 0;
    const before = this.waiting.filter(({ isFirst }) => isFirst).length;
    const room = Math.max(0, free + more - before);
    const others = this.waiting.filter(({ isFirst }) => !isFirst);
    // Of several that could run now it is the newest, unless each counts.
    const chosen = this.policy === 'ALL' ? others.slice(0, room) : others.slice(Math.max(0, others.length - room));
    let firstRoom = free + 100;
    this.waiting = this.waiting.filter((one) => (one.isFirst ? firstRoom-- > 0 : chosen.includes(one)));
    for (const [index, one] of this.waiting.entries()) if (index >= free) one.kept = true;
  }

  /** The newest one, which ends the run that goes on, and takes the place of one that is to be tried again. */
  private replace(active: readonly Run[], free: number, now: number): void {
    const newest = this.waiting.at(-1);
    this.waiting = newest ? [newest] : [];
    if (!newest || this.begun >= this.most) return;
    this.runs = this.runs.filter(({ readyAt }) => readyAt === undefined);
    if (free > 0) return;
    newest.kept = true;
    for (const run of active) {
      if (run.isReplaced) continue;
      run.isReplaced = true;
      const absence = spanAt(this.given.absences, now);
      const killedAt = absence ? absence.to : now;
      if (run.end <= killedAt + graceMillis) continue;
      run.end = killedAt + graceMillis;
      run.how = { kind: 'KILLED' };
      this.later.push(run.end);
    }
  }

  private start(now: number): void {
    if (this.closed.until(now) !== undefined || spanAt(this.given.full, now)) return;
    const isActive = ({ readyAt }: Run): boolean => readyAt === undefined;
    const isReady = ({ readyAt }: Run): boolean => readyAt !== undefined && readyAt <= now;
    for (;;) {
      const active = this.runs.filter(isActive).length;
      const ready = this.runs.filter(isReady).toSorted((a, b) => a.readyAt! - b.readyAt!)[0];
      if (ready && active < this.slots) this.begin(ready, now);
      else if (this.waiting.length > 0 && this.runs.length < this.slots) {
        const planned = this.waiting.shift()!.at;
        const at = this.plansAhead ? planned : this.newest(planned, now);
        if (!this.plansAhead) this.planned = undefined;
        this.begun += 1;
        const run: Run = {
          at,
          attempt: 1,
          launch: 0,
          end: 0,
          how: { kind: 'FINISHED' },
          isReplaced: false,
          sawPause: false,
        };
        this.runs.push(run);
        this.begin(run, now);
      } else break;
    }
  }

  /** A single late run is for the newest of the times that were missed. */
  private newest(planned: number, now: number): number {
    if (now - planned <= minute) return planned;
    return this.named.findLast((at) => at <= now && this.closed.until(at) === undefined) ?? planned;
  }

  private begin(run: Run, now: number): void {
    const { runFor, end } = lifeOf(this.given, run);
    run.readyAt = undefined;
    run.isReplaced = false;
    run.sawPause = false;
    run.end = now + runFor;
    run.how = end;
    this.later.push(run.end);
    this.found.push({ at: run.at, attempt: run.attempt, start: now });
  }
}
