import { parseArgs } from 'node:util';

export interface ChaosOptions {
  /** Faults strike until then; 0: each chosen fault once. */
  minutes: number;
  /** Names, in the order in which they strike; none: all of them, shuffled. */
  faults: string[];
  slaves: number;
  schedulers: number;
  /** API workers of the first scheduler. */
  workers: number;
  /** Run-now calls a second. */
  rate: number;
  seed: number;
  /** Setting cluster.agentReregisterTimeoutSeconds. */
  reregister: number;
  jobs: number;
  crons: number;
  services: number;
  /** Seconds without faults: before the first one, and after each. */
  calm: number;
  /** Time for which a clock is wrong. */
  clockSeconds: number;
  /** A directory for what all processes have printed; empty: it goes with them. */
  logs: string;
}

const defaults: ChaosOptions = {
  minutes: 20,
  faults: [],
  slaves: 3,
  schedulers: 3,
  workers: 2,
  rate: 4,
  seed: Date.now() % 1_000_000,
  reregister: 60,
  jobs: 20,
  crons: 30,
  services: 10,
  calm: 8,
  clockSeconds: 60,
  logs: '',
};

export const chaosOptions = (chosen: Partial<ChaosOptions>): ChaosOptions => ({ ...defaults, ...chosen });

/** As on the command line: `--minutes 20 --faults leader_kill9,agent_cut30`. */
export function readOptions(argv: string[]): ChaosOptions {
  const options = Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ args: argv, options });
  const chosen = Object.entries(values).map(([name, text]) => {
    if (name === 'faults') return [name, text!.split(',')];
    if (name === 'logs') return [name, text!];
    const number = Number(text);
    if (text === '' || !(number >= 0)) throw new Error(`--${name} ${text}: it has to be a number, 0 or more`);
    return [name, number];
  });
  return chaosOptions(Object.fromEntries(chosen) as Partial<ChaosOptions>);
}

/** mulberry32: the same numbers for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}
