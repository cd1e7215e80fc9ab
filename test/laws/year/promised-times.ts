import { timesOf } from './wall-clock.js';
import { spanAt, yearBegins, yearEnds, type YearCase } from './year-case.js';

/** Times at which the request is planned, with its offset, within its bounds; those in exclusions among them. */
export function namedTimes({ request, rules }: YearCase, offset: number): number[] {
  const { startAt = 0, endAt = Number.POSITIVE_INFINITY } = request;
  const from = Math.max(yearBegins, startAt) - offset - 1;
  const to = Math.min(yearEnds, endAt);
  const all = rules.flatMap((rule) => timesOf(rule, from, to).map((at) => at + offset));
  return [...new Set(all)]
    .filter((at) => at > yearBegins && at <= yearEnds && at >= startAt && at <= endAt)
    .toSorted((a, b) => a - b);
}

/** Windows in which nothing starts. */
export class Closed {
  private readonly windows: { from: number; to: number }[];

  constructor({ request, closed }: YearCase) {
    const recurring = closed.flatMap(({ rule, durationMillis }) =>
      timesOf(rule, yearBegins - 2 * durationMillis, yearEnds).map((from) => ({ from, to: from + durationMillis })),
    );
    const dated = (request.exclusions ?? []).flatMap(({ from, to }) =>
      from !== undefined && to !== undefined ? { from, to } : [],
    );
    // Those that touch each other are one.
    this.windows = [];
    for (const { from, to } of [...recurring, ...dated].toSorted((a, b) => a.from - b.from)) {
      const last = this.windows.at(-1);
      if (last && from <= last.to) last.to = Math.max(last.to, to);
      else this.windows.push({ from, to });
    }
  }

  /** The end of the window in which a time lies. */
  until(at: number): number | undefined {
    return spanAt(this.windows, at)?.to;
  }

  ends(): number[] {
    return this.windows.map(({ to }) => to);
  }
}
