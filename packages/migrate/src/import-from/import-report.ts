import { SchedulerError } from '../../../../src/platform/errors.js';
import { BodyProblem } from '../../../../src/platform/http/bodies.js';
import { ZodError } from 'zod';

export const importedThings = [
  'requests',
  'changes of requests',
  'deploys',
  'ended tasks',
  'groups',
  'webhooks',
  'mail addresses',
  'disabled actions',
  'inactive hosts',
] as const;
export type ImportedThing = (typeof importedThings)[number];

/** TAKEN at this run; AS_BEFORE: it is here as it is there; LEFT on purpose; REFUSED by our rules. */
export type ImportOutcome = 'TAKEN' | 'AS_BEFORE' | 'LEFT' | 'REFUSED';

const outcomes: readonly ImportOutcome[] = ['TAKEN', 'AS_BEFORE', 'LEFT', 'REFUSED'];
/** Ids that stand for all others in a line. */
const mostNamed = 5;

/** Report of an import: one line for each thing that is not taken, at once; sums and differences at its end. */
export class ImportReport {
  private readonly counts = new Map<ImportedThing, Record<ImportOutcome, number>>();
  private readonly differences = new Map<string, { count: number; named: string[] }>();

  /** say: takes one line. */
  constructor(readonly say: (line: string) => void) {}

  count(thing: ImportedThing, outcome: ImportOutcome, number = 1): void {
    const counts = this.counts.get(thing) ?? { TAKEN: 0, AS_BEFORE: 0, LEFT: 0, REFUSED: 0 };
    counts[outcome] += number;
    this.counts.set(thing, counts);
  }

  total(thing: ImportedThing, outcome: ImportOutcome): number {
    return this.counts.get(thing)?.[outcome] ?? 0;
  }

  refuse(thing: ImportedThing, name: string, reason: string): void {
    this.count(thing, 'REFUSED');
    this.say(`refused: ${name}: ${reason}`);
  }

  leave(thing: ImportedThing, name: string, why: string): void {
    this.count(thing, 'LEFT');
    this.say(`left out: ${name}: ${why}`);
  }

  /** Something that is otherwise here than there; alike ones become one line. */
  differs(what: string, name: string): void {
    const known = this.differences.get(what) ?? { count: 0, named: [] };
    known.count += 1;
    if (known.named.length < mostNamed) known.named.push(name);
    this.differences.set(what, known);
  }

  /** The sums, and what differs. */
  close(heading: string): void {
    const heads = ['there', 'taken', 'as before', 'left out', 'refused'];
    const line = (name: string, cells: readonly unknown[]): string =>
      `  ${name.padEnd(20)}${cells.map((cell) => String(cell).padStart(11)).join('')}`;
    this.say(heading);
    this.say(line('', heads));
    for (const thing of importedThings) {
      const numbers = outcomes.map((outcome) => this.total(thing, outcome));
      const there = numbers.reduce((sum, number) => sum + number, 0);
      this.say(line(thing, [there, ...numbers]));
    }
    this.say(this.differences.size === 0 ? 'Nothing differs.' : 'What differs:');
    for (const [what, { count, named }] of this.differences) {
      const more = count > named.length ? `, and ${count - named.length} more` : '';
      this.say(`  ${what}: ${count} (${named.join(', ')}${more})`);
    }
  }
}

/** Field and rule of what our rules refuse; undefined: it is a failure of another kind. */
export function problemOf(cause: unknown): string | undefined {
  if (cause instanceof BodyProblem) return `${cause.error.field || 'record'} (${cause.error.rule}): ${cause.message}`;
  if (cause instanceof ZodError) {
    return cause.issues
      .map(({ path, code, message }) => `${path.join('.') || 'record'} (${code}): ${message}`)
      .join('; ');
  }
  if (!(cause instanceof SchedulerError)) return undefined;
  if (cause.errors.length === 0) return `${cause.code}: ${cause.message}`;
  return cause.errors.map(({ field, rule, message }) => `${field} (${rule}): ${message}`).join('; ');
}
