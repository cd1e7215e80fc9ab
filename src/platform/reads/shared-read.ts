/**
 * A read that all who ask at the same time share. At most one is under way; who asks meanwhile shares the next one, so that
 * his answer is not older than his question.
 */
export class SharedRead<Value> {
  private running: Promise<void> | undefined;
  private next: Promise<Value> | undefined;

  constructor(private readonly read: () => Promise<Value>) {}

  ask(): Promise<Value> {
    if (this.next) return this.next;
    if (!this.running) return this.start();
    this.next = this.running.then(() => {
      this.next = undefined;
      return this.start();
    });
    return this.next;
  }

  get isIdle(): boolean {
    return this.running === undefined && this.next === undefined;
  }

  private start(): Promise<Value> {
    // Within a function of its own: what it throws at once is a failed read as well.
    const value = (async () => this.read())();
    const ended = (): void => {
      this.running = undefined;
    };
    this.running = value.then(ended, ended);
    return value;
  }
}
