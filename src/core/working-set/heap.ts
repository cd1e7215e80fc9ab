/** A binary heap: the least first. */
export class Heap<T> {
  private readonly items: T[] = [];

  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  get first(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    this.items.push(item);
    let index = this.items.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.isBefore(this.items[index]!, this.items[parent]!)) break;
      this.swap(index, parent);
      index = parent;
    }
  }

  /** Takes the first one out. */
  pop(): void {
    const last = this.items.pop();
    if (last === undefined || this.items.length === 0) return;
    this.items[0] = last;
    for (let index = 0; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (left < this.items.length && this.isBefore(this.items[left]!, this.items[least]!)) least = left;
      if (right < this.items.length && this.isBefore(this.items[right]!, this.items[least]!)) least = right;
      if (least === index) return;
      this.swap(index, least);
      index = least;
    }
  }

  private swap(a: number, b: number): void {
    [this.items[a], this.items[b]] = [this.items[b]!, this.items[a]!];
  }
}
