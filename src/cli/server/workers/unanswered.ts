/** What was asked of another process and has no answer yet. */
export class Unanswered {
  private readonly waiting = new Map<number, () => void>();
  private lastNo = 0;

  /** Resolves when it is answered, is not in time, or never will be. `send`: with the number that its answer will have. */
  ask(withinMillis: number, send: (no: number) => void): Promise<void> {
    const no = ++this.lastNo;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(late);
        this.waiting.delete(no);
        resolve();
      };
      const late = setTimeout(done, withinMillis);
      this.waiting.set(no, done);
      send(no);
    });
  }

  answered(no: number): void {
    this.waiting.get(no)?.();
  }

  /** The other process has ended. */
  giveUp(): void {
    for (const done of this.waiting.values()) done();
  }
}
