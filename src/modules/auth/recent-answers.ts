interface CachedAnswer<T> {
  answer: T;
  /** Epoch milliseconds at which it was given. */
  at: number;
}

/** A bounded memory of answers: the least recently used one is dropped first. */
export class RecentAnswers<T> {
  private readonly kept = new Map<string, CachedAnswer<T>>();

  constructor(private readonly most: number) {}

  get isEmpty(): boolean {
    return this.kept.size === 0;
  }

  get(key: string): CachedAnswer<T> | undefined {
    const found = this.kept.get(key);
    if (found) {
      this.kept.delete(key);
      this.kept.set(key, found);
    }
    return found;
  }

  put(key: string, answer: T, at: number): void {
    this.kept.delete(key);
    this.kept.set(key, { answer, at });
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= this.most) break;
      this.kept.delete(oldest);
    }
  }

  remove(key: string): void {
    this.kept.delete(key);
  }

  removeWhere(holds: (answer: T) => boolean): void {
    for (const [key, { answer }] of this.kept) if (holds(answer)) this.kept.delete(key);
  }
}
