const windowSeconds = 60;

/** How often something happened per second, over the last minute. */
export class RecentRate {
  /** Per second of the window: which second it is for, and how often it happened in it. */
  private readonly seconds = Array.from({ length: windowSeconds }, () => ({ second: -1, count: 0 }));

  add(count: number, now: number): void {
    const second = Math.floor(now / 1000);
    const place = this.seconds[second % windowSeconds]!;
    if (place.second !== second) Object.assign(place, { second, count: 0 });
    place.count += count;
  }

  perSecond(now: number): number {
    const oldest = Math.floor(now / 1000) - windowSeconds;
    const recent = this.seconds.filter(({ second }) => second > oldest);
    return recent.reduce((sum, { count }) => sum + count, 0) / windowSeconds;
  }
}
