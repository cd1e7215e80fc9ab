/** Settings of the laws: to replay a failure, or to try more of them. */
export const lawSettings = {
  /** Seed of fast-check. */
  seed: numberIn('LAWS_SEED'),
  /** Path of fast-check: one schedule out of those of the seed. */
  path: process.env['LAWS_PATH'],
  /** Schedules per test. */
  runs: numberIn('LAWS_RUNS'),
  /** Share of the schedules that a test names: `npm test` tries few, the deep step one in DEEP_EVERY, or all. */
  share: process.env['MUSTER_TEST_STEP'] === 'daily' ? 1 / 20 : 1 / (numberIn('DEEP_EVERY') ?? 1),
};

function numberIn(name: string): number | undefined {
  const text = process.env[name];
  return text === undefined ? undefined : Number(text);
}
