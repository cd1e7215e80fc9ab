/** The pause before the next attempt: the first one, and `factor` times as long after every further failure, up to the longest. */
export const backOffMillis = (failuresInRow: number, firstMillis: number, longestMillis: number, factor = 2): number =>
  // The power of a row that is long enough is infinite, which times 0 is no number.
  firstMillis === 0 ? 0 : Math.min(firstMillis * factor ** Math.max(0, failuresInRow - 1), longestMillis);
