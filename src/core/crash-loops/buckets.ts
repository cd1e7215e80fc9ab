/** Failures are sorted into stretches of time; a loop fails in many of them, and still does in a late one. */
export interface BucketRules {
  sizeMillis: number;
  /** The span looked at is this number of sizes; the newest two form one bucket, so that there is one bucket less. */
  buckets: number;
  /** Share of `buckets` that must be exceeded by those with a failure. */
  threshold: number;
  /** Percentage of `buckets` that must be exceeded by the number, from 0, of the newest one with a failure. */
  minBucketIndexPercent: number;
}

/** The failures within the span, when they spread as the rules say; otherwise none. */
export function spreadOverBuckets<Failure extends { timestamp: number }>(
  failures: readonly Failure[],
  rules: BucketRules,
  now: number,
): Failure[] {
  const firstEdge = now - rules.buckets * rules.sizeMillis;
  const recent = failures.filter(({ timestamp }) => timestamp >= firstEdge);
  // The newest bucket has no upper edge: a machine whose clock is ahead counts as failing now.
  const indexes = new Set(
    recent.map(({ timestamp }) => Math.min(Math.floor((timestamp - firstEdge) / rules.sizeMillis), rules.buckets - 2)),
  );
  const isOften = indexes.size / rules.buckets > rules.threshold;
  const isRecent = Math.floor((100 * Math.max(...indexes)) / rules.buckets) > rules.minBucketIndexPercent;
  return isOften && isRecent ? recent : [];
}
