/** What no noted time can be later than, unless the clock has been set back since. */
export interface ClockLimit {
  /** Takes the place of such a time. */
  now: Date;
  /** Later than `now` by more than clocks differ. */
  latest: Date;
}
