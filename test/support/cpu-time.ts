/** Milliseconds of CPU that this process spends on `work`: other processes on the machine make it take longer, not cost more. */
export async function cpuMillisOf(work: () => unknown): Promise<number> {
  const begun = process.cpuUsage();
  await work();
  return process.cpuUsage(begun).user / 1_000;
}
