/** A binary heap of items under keys: the least first. It holds one item of each key, the last that was put there. */
export class Heap<T> {
  private readonly keys: string[] = [];
  private readonly items = new Map<string, { item: T; index: number }>();

  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.keys.length;
  }

  get first(): T | undefined {
    return this.keys.length === 0 ? undefined : this.items.get(this.keys[0]!)!.item;
  }

  put(key: string, item: T): void {
    const index = this.items.get(key)?.index ?? this.keys.length;
    this.items.set(key, { item, index });
    this.keys[index] = key;
    this.settle(index);
  }

  delete(key: string): void {
    const removed = this.items.get(key);
    if (!removed) return;
    this.items.delete(key);
    const last = this.keys.pop()!;
    if (last === key) return;
    this.place(last, removed.index);
    this.settle(removed.index);
  }

  clear(): void {
    this.keys.length = 0;
    this.items.clear();
  }

  /** Moves the item at the index to where it belongs. */
  private settle(start: number): void {
    let index = start;
    for (let parent = (index - 1) >> 1; index > 0 && this.isLess(index, parent); parent = (index - 1) >> 1) {
      this.swap(index, parent);
      index = parent;
    }
    for (;;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (left < this.keys.length && this.isLess(left, least)) least = left;
      if (right < this.keys.length && this.isLess(right, least)) least = right;
      if (least === index) return;
      this.swap(index, least);
      index = least;
    }
  }

  private isLess(a: number, b: number): boolean {
    return this.isBefore(this.items.get(this.keys[a]!)!.item, this.items.get(this.keys[b]!)!.item);
  }

  private swap(a: number, b: number): void {
    const [first, second] = [this.keys[a]!, this.keys[b]!];
    this.place(first, b);
    this.place(second, a);
  }

  private place(key: string, index: number): void {
    this.keys[index] = key;
    this.items.get(key)!.index = index;
  }
}
