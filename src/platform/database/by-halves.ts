interface ByHalves<T> {
  /** All of it or nothing, as in one transaction. */
  work: (items: readonly T[]) => Promise<void>;
  /** True if a failure is about the items. Any other ends everything. */
  isAboutItems: (cause: unknown) => boolean;
  /** Called with each item that fails by itself. */
  alone: (item: T, cause: unknown) => Promise<void> | void;
}

/** One item spoils the work for all: what fails is halved until it is known which item it is, and the others are done. */
export async function byHalves<T>(items: readonly T[], options: ByHalves<T>): Promise<void> {
  if (items.length === 0) return;
  try {
    await options.work(items);
  } catch (cause) {
    if (!options.isAboutItems(cause)) throw cause;
    if (items.length === 1) return options.alone(items[0]!, cause);
    const half = Math.ceil(items.length / 2);
    await byHalves(items.slice(0, half), options);
    await byHalves(items.slice(half), options);
  }
}
