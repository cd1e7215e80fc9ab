/** Does the work for every item, for so many at a time, and answers the results in the order of the items. */
export async function inParallel<T, R>(
  items: readonly T[],
  atMost: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: atMost }, worker));
  return results;
}
