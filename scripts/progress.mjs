/**
 * Says what is done now; on a terminal until it is done, and how long it took. `still` tells of it again and again where
 * there is no terminal, and where the packages are not there yet that draw on one.
 */
export async function during(what, work, { still } = {}) {
  const begin = performance.now();
  const seconds = () => Math.round((performance.now() - begin) / 1_000);
  // Some terminals do not say how wide they are, and nothing can be drawn over on those.
  const ora =
    process.stdout.isTTY && process.stdout.columns > 0
      ? await import('ora').then(
          ({ default: found }) => found,
          () => undefined,
        )
      : undefined;
  const spinner = ora?.({ text: what, stream: process.stdout, discardStdin: false }).start();
  if (!spinner) console.log(what);
  const progress = still && !spinner && setInterval(() => console.log(`  ${still} (${seconds()} s)`), stillMillis);
  try {
    const result = await work();
    if (spinner) spinner.succeed(`${what} (${seconds()} s)`);
    else if (still) console.log(`  done in ${seconds()} s`);
    return result;
  } catch (cause) {
    spinner?.fail();
    throw cause;
  } finally {
    clearInterval(progress);
  }
}

const stillMillis = 5_000;
