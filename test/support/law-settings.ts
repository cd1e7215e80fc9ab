/** How the laws are tried this time: set by whoever replays a failure, or wants more of them. */
export const lawSettings = {
  /** Of fast-check. */
  seed: numberIn('LAWS_SEED'),
  /** Of fast-check: one schedule out of those of the seed. */
  path: process.env['LAWS_PATH'],
  /** Schedules per test. */
  runs: numberIn('LAWS_RUNS'),
};

function numberIn(name: string): number | undefined {
  const text = process.env[name];
  return text === undefined ? undefined : Number(text);
}
