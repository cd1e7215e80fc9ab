import type { TaskDirectory } from './task-directory.js';

/**
 * A program is asked to end only once, also by the next agent: many programs take a second SIGTERM as an order to give
 * up their orderly end.
 */
export class SignalRecord {
  private readonly names: Set<string>;

  constructor(private readonly directory: Pick<TaskDirectory, 'noteAsked' | 'readAsked'>) {
    this.names = new Set(directory.readAsked());
  }

  has = (name: string): boolean => this.names.has(name);

  /** Written down when it is done: an agent that ends in between has it done again, rather than never. */
  once(name: string, ask: () => void): void {
    if (this.names.has(name)) return;
    this.names.add(name);
    ask();
    this.directory.noteAsked(name);
  }
}
