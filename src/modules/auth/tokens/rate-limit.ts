/** So many times per span of time and name; what is asked for beyond that is refused. */
export class RateLimit {
  private readonly taken = new Map<string, number[]>();

  constructor(
    private readonly most: number,
    private readonly spanMillis: number,
  ) {}

  /** Counts this time, or answers false. */
  take(name: string, now: number): boolean {
    const since = now - this.spanMillis;
    const recent = (this.taken.get(name) ?? []).filter((at) => at > since);
    if (recent.length >= this.most) return false;
    this.forgetBefore(since);
    this.taken.set(name, [...recent, now]);
    return true;
  }

  /** Names that nobody uses any more would pile up. */
  private forgetBefore(since: number): void {
    for (const [name, times] of this.taken) if (times.at(-1)! <= since) this.taken.delete(name);
  }
}
