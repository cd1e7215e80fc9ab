const stepMillis = 50;

/**
 * Calls `work` when this process has had so much time, in steps: while it stands still, or waits for a processor, no more than a step
 * passes, and what has come meanwhile is read before the next one. So who waits for an answer from elsewhere is not told that it is
 * late because this process is. Answers how to give it up.
 */
export function afterOwnTime(millis: number, work: () => void): () => void {
  let left = Math.ceil(millis / stepMillis);
  const step = (): void => {
    left -= 1;
    if (left <= 0) return work();
    timer = setTimeout(step, stepMillis);
  };
  let timer = setTimeout(step, stepMillis);
  return () => clearTimeout(timer);
}
