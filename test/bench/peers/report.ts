import { parseArgs } from 'node:util';

/** A figure that is measured on both sides: a row of the table. */
export interface Figure {
  /** For `--only`. */
  key: string;
  name: string;
  /** A call that is repeated by all connections; $m: the number of a request, $n: one that no call before had. */
  call?: { method?: string; path: string; body?: string; connections?: number };
  /** True for a time or a size: less is better. */
  isBetterLess?: boolean;
}

/** Muster makes no more answers of 15 MB for one caller at a time. */
const mostOfLargest = 4;
const create = { id: 'made-$n', requestType: 'SERVICE', instances: 2, owners: ['bench@example.com'] };

export const figures: readonly Figure[] = [
  { key: 'memory', name: 'memory of the service, MiB', isBetterLess: true },
  { key: 'memory-all', name: 'memory with database or ZooKeeper, MiB', isBetterLess: true },
  { key: 'run-now', name: 'run-now to launch, idle, p50, ms', isBetterLess: true },
  { key: 'process', name: 'run-now to process, idle, p50, ms', isBetterLess: true },
  { key: 'launches', name: 'launches per second, from the call on' },
  { key: 'starts', name: 'status updates per second, starts' },
  { key: 'ends', name: 'status updates per second, ends' },
  { key: 'simple', name: '`/requests/request/{id}/simple`', call: { path: 'requests/request/request-$m/simple' } },
  { key: 'state', name: '`/state`', call: { path: 'state' } },
  { key: 'ids', name: '`/requests/ids`', call: { path: 'requests/ids' } },
  { key: 'history', name: 'tasks of a request in history', call: { path: 'history/request/request-$m/tasks' } },
  { key: 'active-ids', name: '`/tasks/active/ids`', call: { path: 'tasks/active/ids' } },
  { key: 'requests', name: '`/requests`', call: { path: 'requests' } },
  { key: 'active', name: '`/tasks/active`', call: { path: 'tasks/active', connections: mostOfLargest } },
  { key: 'request', name: 'one request', call: { path: 'requests/request/request-$m' } },
  // The last call: it changes what the others read.
  { key: 'create', name: 'create a request', call: { method: 'POST', path: 'requests', body: JSON.stringify(create) } },
  { key: 'create-p99', name: 'create a request, p99, ms', isBetterLess: true },
  { key: 'memory-after', name: 'memory of the service after all calls, MiB', isBetterLess: true },
];

/** One figure on one side. */
export interface Measured {
  value: number;
  /** Milliseconds. */
  p50?: number;
  p99?: number;
  /** Bytes of one answer. */
  bytes?: number;
  /** Processor time of the service with its database or ZooKeeper, for one call. */
  cpuMillis?: number;
  warmUpSeconds?: number;
}

/** By the keys of the figures. */
export type Measurements = ReadonlyMap<string, Measured>;

export interface Options {
  seconds: number;
  rounds: number;
  requests: number;
  workers: number | undefined;
  skipOriginal: boolean;
  /** Keys of the figures. */
  only: ReadonlySet<string>;
}

/** Throws an error with one line for the person who called. */
export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seconds: { type: 'string', default: '8' },
      rounds: { type: 'string', default: '1' },
      requests: { type: 'string', default: '1000' },
      workers: { type: 'string' },
      only: { type: 'string' },
      'skip-original': { type: 'boolean', default: false },
    },
  });
  const number = (name: 'seconds' | 'rounds' | 'requests' | 'workers', least: number, most: number): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < least || value > most)
      throw new Error(`--${name} must be a whole number from ${least} to ${most}, not '${values[name]}'`);
    return value;
  };
  const keys = figures.map(({ key }) => key);
  const only = values.only?.split(',') ?? keys;
  const unknown = only.find((key) => !keys.includes(key));
  if (unknown !== undefined) throw new Error(`--only: there is no figure '${unknown}'; there are ${keys.join(', ')}`);
  return {
    seconds: number('seconds', 1, 600),
    rounds: number('rounds', 1, 20),
    requests: number('requests', 1, 10_000),
    workers: values.workers === undefined ? undefined : number('workers', 0, 64),
    skipOriginal: values['skip-original'],
    only: new Set(only),
  };
}

/** Rates of one window of a warm-up after the other: the last two brought little over the best before them. */
export function isSteady(rates: readonly number[]): boolean {
  const before = rates.slice(0, -2);
  return before.length > 0 && Math.max(...rates.slice(-2)) <= Math.max(...before) * 1.03;
}

/** The median of each member over the rounds. */
export function medians(rounds: readonly Measurements[]): Measurements {
  const median = (numbers: readonly number[]): number => {
    const sorted = numbers.toSorted((a, b) => a - b);
    const middle = (sorted.length - 1) / 2;
    return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
  };
  const members = ['value', 'p50', 'p99', 'bytes', 'cpuMillis', 'warmUpSeconds'] as const;
  const keys = new Set(rounds.flatMap((round) => [...round.keys()]));
  return new Map(
    [...keys].map((key) => {
      const found = rounds.flatMap((round) => round.get(key) ?? []);
      const of = (member: (typeof members)[number]) => found.flatMap((each) => each[member] ?? []);
      const present = members.filter((member) => of(member).length > 0);
      return [key, Object.fromEntries(present.map((member) => [member, median(of(member))])) as unknown as Measured];
    }),
  );
}

/** Factor by which Muster is better; below 1: it is behind. */
export function ratioOf({ isBetterLess }: Figure, original: Measured | undefined, muster: Measured | undefined) {
  if (!original || !muster) return undefined;
  return isBetterLess ? original.value / muster.value : muster.value / original.value;
}

const columns = ['', 'original', 'Muster', 'ratio', 'p50, ms', 'p99, ms', 'CPU of a call, ms', 'bytes'];

/** A table in Markdown that can be read as it is. In the columns of both, the original's figure stands first. */
export function tableOf(original: Measurements, muster: Measurements): string {
  const rows = figures
    .filter(({ key }) => original.has(key) || muster.has(key))
    .map((figure) => {
      const [theirs, ours] = [original.get(figure.key), muster.get(figure.key)];
      const both = (member: keyof Measured) =>
        original.size === 0 ? text(ours?.[member]) : pair(text(theirs?.[member]), text(ours?.[member]));
      const ratio = text(ratioOf(figure, theirs, ours), 2);
      const unpaired = [figure.name, text(theirs?.value), text(ours?.value), ratio];
      return [...unpaired, both('p50'), both('p99'), both('cpuMillis'), both('bytes')];
    });
  const lines = [columns, columns.map(() => '-'), ...rows];
  const widths = columns.map((_, index) => Math.max(3, ...lines.map((line) => line[index]!.length)));
  const cell = (value: string, index: number) =>
    value === '-' ? '-'.repeat(widths[index]!) : value.padEnd(widths[index]!);
  return lines.map((line) => `| ${line.map(cell).join(' | ')} |`).join('\n');
}

const pair = (theirs: string, ours: string): string => (theirs || ours ? `${theirs || '?'} / ${ours || '?'}` : '');

/** Three digits that count, or all of a whole number. */
function text(value: number | undefined, digits?: number): string {
  if (value === undefined) return '';
  const fraction = digits ?? (value >= 100 ? 0 : value >= 10 ? 1 : 2);
  return value.toLocaleString('en-US', { maximumFractionDigits: fraction });
}

/** One line for people: what is not ahead. */
export function behindOf(original: Measurements, muster: Measurements): string {
  const told = figures.flatMap((figure) => {
    const ratio = ratioOf(figure, original.get(figure.key), muster.get(figure.key));
    return ratio !== undefined && ratio < 1 ? `${figure.name} (${text(ratio, 2)})` : [];
  });
  return told.length === 0 ? 'Muster is behind in nothing of this.' : `Muster is behind in: ${told.join(', ')}`;
}
