const gatherMillis = 1_000;

/**
 * One line for what goes wrong many times at once: all that a term had under way when it ends, all that was sent when the database
 * went away. The first is told as it is, the others are counted.
 */
export class GatheredWarning {
  private first: string | undefined;
  private others = 0;

  constructor(
    private readonly tell: (line: string) => void,
    private readonly millis = gatherMillis,
  ) {}

  note(line: string): void {
    if (this.first !== undefined) {
      this.others += 1;
      return;
    }
    this.first = line;
    setTimeout(() => this.flush(), this.millis).unref();
  }

  private flush(): void {
    this.tell(this.others === 0 ? this.first! : `${this.first} (and ${this.others} more like it)`);
    this.first = undefined;
    this.others = 0;
  }
}
