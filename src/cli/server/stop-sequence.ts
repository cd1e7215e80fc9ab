import { say as sayAloud } from './announce.js';

interface StopStep {
  name: string;
  /** Takes its time. May answer what came of it. */
  inOrder: () => Promise<string | void>;
  /** Runs in place of the step when the operator does not wait. */
  atOnce?: () => Promise<unknown>;
}

/** Longest time that a stop at once may take before the process just ends. */
const atOnceMillis = 10_000;

/** The stop was asked for while the program was still starting. */
class InterruptedStart extends Error {}

/**
 * The end of the program. The first SIGINT, SIGTERM or SIGHUP stops one thing after the other, in the order of the
 * list, and says so; the second one stops everything now. A step that fails does not keep the others from their turn.
 */
export class StopSequence {
  private readonly steps = new Map<string, StopStep>();
  private running: Promise<void> | undefined;
  private starting: Promise<unknown> = Promise.resolve();
  private hurried = false;
  private leave!: (code: number) => void;
  /** Exit code, once everything has stopped. */
  readonly stopped = new Promise<number>((resolve) => (this.leave = resolve));

  constructor(
    private readonly order: readonly string[],
    private readonly say = sayAloud,
  ) {}

  /** From now on signals are obeyed, even while the program is still starting. */
  listen(): void {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.signalled());
  }

  signalled(): void {
    void (this.running === undefined ? this.run() : this.stopAtOnce());
  }

  add(step: StopStep): void {
    this.steps.set(step.name, step);
  }

  /**
   * Starts the program. `work` calls `checkpoint` between two things it starts: there it is interrupted when the stop
   * has begun meanwhile. What fails to start is handed to `failed`, and what did start is stopped without a word.
   */
  async start(work: (checkpoint: () => void) => Promise<void>, failed: (cause: unknown) => void): Promise<void> {
    const checkpoint = (): void => {
      if (this.running) throw new InterruptedStart();
    };
    const starting = work(checkpoint);
    this.starting = starting.catch(() => undefined);
    try {
      await starting;
    } catch (cause) {
      if (cause instanceof InterruptedStart) return;
      failed(cause);
      await this.run(1, () => undefined);
    }
  }

  run(code = 0, say = this.say): Promise<void> {
    return (this.running ??= this.runSteps(code, say));
  }

  private async runSteps(code: number, say: (line: string) => void): Promise<void> {
    say('Stopping in order (repeat to stop at once)');
    await this.starting;
    for (const name of this.order) {
      // A step of the stop in order would get in the way of the stop at once: it tells the agent to leave its tasks alone.
      if (this.hurried) return;
      const step = this.steps.get(name);
      if (!step) continue;
      const begin = performance.now();
      try {
        const result = await step.inOrder();
        say(`  ${name}: ${result ?? 'stopped'} (${((performance.now() - begin) / 1_000).toFixed(1)} s)`);
      } catch (cause) {
        say(`  ${name}: ${messageOf(cause)}`);
      }
      this.steps.delete(name);
    }
    if (!this.hurried) this.leave(code);
  }

  private async stopAtOnce(): Promise<void> {
    if (this.hurried) return;
    this.hurried = true;
    this.say('Stopping at once');
    setTimeout(() => this.leave(1), atOnceMillis);
    await Promise.all([...this.steps.values()].map((step) => this.endAtOnce(step)));
    this.leave(1);
  }

  private async endAtOnce({ name, atOnce }: StopStep): Promise<void> {
    try {
      await atOnce?.();
    } catch (cause) {
      this.say(`  ${name}: ${messageOf(cause)}`);
    }
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
