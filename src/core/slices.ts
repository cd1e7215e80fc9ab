/** At most so many items, and so much of them together. */
export interface SliceBounds {
  items: number;
  size: number;
}

/** In their order; an item that is larger than the bound is in a slice of its own. */
export function* slicesWithin<T>(
  items: readonly T[],
  bounds: SliceBounds,
  sizeOf: (item: T) => number,
): Generator<T[], void, undefined> {
  let slice: T[] = [];
  let size = 0;
  for (const item of items) {
    const own = sizeOf(item);
    if (slice.length > 0 && (slice.length >= bounds.items || size + own > bounds.size)) {
      yield slice;
      slice = [];
      size = 0;
    }
    slice.push(item);
    size += own;
  }
  if (slice.length > 0) yield slice;
}
