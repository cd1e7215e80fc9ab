/** Limit that no stored time can exceed, unless the clock has been set back since. */
export interface ClockLimit {
  /** Takes the place of such a time. */
  now: Date;
  /** Later than `now` by more than clocks differ. */
  latest: Date;
}
