import type { SimulatedDriver } from '../support/simulated-cluster/simulated-driver.js';
import { ServiceAsker } from '../../src/platform/service-asker.js';
import { Leadership } from '../../src/platform/leadership/leadership.js';
import type { SchedulerWorld } from '../support/scheduler-world.js';
import type { Transaction } from '../../src/platform/database/transaction.js';

/** The error that everything gets that a dead process still tries. */
export class Killed extends Error {
  constructor(point: string) {
    super(`Killed: ${point}`);
  }
}

/** Calls that leave the process. Those of further ports are added here. */
const driverCalls = ['launch', 'kill', 'reconcile'] as const satisfies readonly (keyof SimulatedDriver)[];

/**
 * The moments at which a scheduler can be killed: before and after each commit, and before and after each call that
 * leaves the process. Counts them, and kills the process that comes to a chosen one.
 *
 * What lies between two moments may touch nothing but the memory that dies (a signal to a poller, say): these are one
 * point. So the moment before something counts only if time has passed, or something else has begun, since the last.
 */
export class CrashPoints {
  /** In the order in which they were come to. Empty until `arm`. */
  readonly passed: string[] = [];
  /** Orders of people that were committed, whether or not they were answered. */
  ordersCommitted = 0;
  private killAt: number[] = [];
  private armed = false;
  /** Virtual time of the last point; undefined: something has begun since. */
  private lastAt: number | undefined;
  private process: Process | undefined;

  /** From now on points count. `killAt`: numbers of the points at which to kill, from 1 on, ascending. */
  arm(killAt: readonly number[]): void {
    this.armed = true;
    this.killAt = [...killAt];
  }

  /** Kills nothing any more. */
  disarm(): void {
    this.armed = false;
  }

  get isDead(): boolean {
    return this.process?.isDead ?? false;
  }

  /** A new process: whatever it does from now on passes these points. */
  watch(world: SchedulerWorld): void {
    const process = new Process(world, (when, what) => this.isHere(when, what, world.now));
    this.process = process;
    process.aroundTransactions('leaderTransaction');
    process.aroundTransactions('transaction', () => (this.ordersCommitted += 1));
    for (const call of driverCalls) process.around(world.driver, call);
    process.around(world.get(ServiceAsker), 'ask');
  }

  private isHere(when: When, what: string, now: number): boolean {
    const isNew = when === 'after' || now !== this.lastAt;
    this.lastAt = when === 'after' ? now : undefined;
    if (!this.armed || !isNew) return false;
    this.passed.push(`${when} ${what}`);
    if (this.passed.length !== this.killAt[0]) return false;
    this.killAt.shift();
    return true;
  }
}

type When = 'before' | 'after';
type Method = (...parameters: unknown[]) => unknown;
type Transact = (work: (tx: Transaction, ...more: unknown[]) => Promise<unknown>) => Promise<unknown>;

/** One life of a scheduler. Once it is dead it writes nothing and sends nothing, whatever its code still tries. */
class Process {
  isDead = false;

  constructor(
    private readonly world: SchedulerWorld,
    private readonly isKilledAt: (when: When, what: string) => boolean,
  ) {}

  /** Killed before the commit nothing is left; killed after it, nothing in the process comes to know of it. */
  aroundTransactions(name: 'transaction' | 'leaderTransaction', committed: () => void = () => undefined): void {
    const database = this.world.db as unknown as Record<typeof name, Transact>;
    const transaction = database[name].bind(database);
    database[name] = async (work) => {
      const commit = `the commit of ${caller()}`;
      const result = await transaction(async (...parameters) => {
        const done = await work(...parameters);
        this.pass('before', commit);
        return done;
      });
      committed();
      this.pass('after', commit);
      return result;
    };
  }

  around<T extends object>(port: T, name: keyof T & string): void {
    const methods = port as Record<string, Method>;
    const method = methods[name]!.bind(port);
    methods[name] = async (...parameters) => {
      this.pass('before', name);
      const answer = await method(...parameters);
      this.pass('after', name);
      return answer;
    };
  }

  private pass(when: When, what: string): void {
    if (!this.isDead && this.isKilledAt(when, what)) this.die();
    if (this.isDead) throw new Killed(`${when} ${what}`);
  }

  private die(): void {
    this.isDead = true;
    this.world.driver.die();
    this.world.get(Leadership).stepDown('killed');
    const refuse = () => Promise.reject(new Killed('a query'));
    const { pool, leaderPool } = this.world.db;
    for (const connections of [pool, leaderPool]) Object.assign(connections, { query: refuse, transaction: refuse });
  }
}

/** The function whose transaction it is, by the stack: for people who read about a failure. */
function caller(): string {
  const frames = new Error().stack!.split('\n').slice(3);
  const frame = frames.find((line) => !line.includes('node:internal') && !line.includes('<anonymous>'));
  return /at (?:async )?(?:new )?([\w.]+)/.exec(frame ?? '')?.[1] ?? 'somebody';
}
