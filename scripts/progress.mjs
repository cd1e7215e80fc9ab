/**
 * Shows `what` is done now; on a terminal until it is done, and how long it took. `work` gets a function that names its present step.
 * `still` repeats that it goes on, every `everyMillis`, where there is no terminal and where the packages that draw on one are missing.
 */
export async function during(what, work, { still, everyMillis = 5_000 } = {}) {
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
  let step;
  const goesOn = () => {
    const present = step === undefined ? '' : `: ${step}`;
    if (spinner) spinner.text = `${what}${present} (${seconds()} s)`;
    else if (still) console.log(`  ${still}${present} (${seconds()} s)`);
  };
  const progress = setInterval(goesOn, spinner ? 1_000 : everyMillis);
  try {
    const result = await work((name) => {
      step = name;
      if (spinner) goesOn();
    });
    if (spinner) spinner.succeed(`${what} (${seconds()} s)`);
    else if (still) console.log(`  done in ${seconds()} s`);
    return result;
  } catch (cause) {
    spinner?.fail(what);
    throw cause;
  } finally {
    clearInterval(progress);
  }
}
