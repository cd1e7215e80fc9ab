/** Time that a network which is changing gets, in milliseconds. */
const pauseMs = 1_000;

/**
 * Loads a part of the page when it is needed. A browser breaks its calls off while its network changes, so a part that did not come is
 * asked for once more.
 */
export const part =
  <T>(load: () => Promise<T>) =>
  (): Promise<T> =>
    load().catch(async () => {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      return load();
    });

/** True for the failure of a part, in the words of each browser. It has come for good: browsers keep it until the page is loaded anew. */
export const isMissingPart = (cause: unknown): boolean =>
  cause instanceof TypeError && /dynamically imported module|importing a module script failed/i.test(cause.message);
