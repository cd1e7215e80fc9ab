/** Work under the same key runs one after the other; under different keys at the same time. */
export class InTurn {
  private readonly last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.last.get(key) ?? Promise.resolve();
    const result = previous.catch(() => undefined).then(work);
    this.last.set(key, result);
    const forget = () => {
      if (this.last.get(key) === result) this.last.delete(key);
    };
    result.then(forget, forget);
    return result;
  }

  /** Resolves when everything that was asked for until now is done. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.last.values());
  }
}
