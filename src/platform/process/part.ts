import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Words } from './words.js';

/** The figures of one process, as its registry gives them. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[];

/** How the processes of an instance reach the one that leads: a port on the loopback, and what proves that they call. */
export interface Doorway {
  port: number;
  key: string;
}

/** Workers that begin. */
export interface Opened {
  /** At which callers reach them. */
  port: number;
  /** Resolves when all serve. Until then connections wait. */
  serving: Promise<unknown>;
}

export interface WorkerCounts {
  serving: number;
  /** That begin, or are to take the place of one that ended. */
  missing: number;
  /** Since the instance began, without those that were stopped with it. */
  ended: number;
}

/**
 * What this process does of an instance. It is the whole of it, or one of several that share the port of callers: the one that
 * leads, and API workers, which are instances that never lead. All in which they differ is said here.
 */
export interface Part {
  /** Competes for the leadership, if the settings let it. */
  readonly mayLead: boolean;
  /** Of a worker: the port of its instance. Connections come to it by the process that leads, which listens there. */
  readonly port?: number;
  /** Of a worker: the id of its instance. */
  readonly workerOf?: string;
  /** Of a worker: how many connections to the database it has for calls. */
  readonly connections?: number;
  /** Of the process that leads, while others answer callers: the key of what they pass on. It answers nothing else. */
  readonly key?: string;
  /** Of a worker: where it passes on what only the process that leads can answer. */
  readonly doorway?: Doorway;
  /** Of the process that leads: has workers begin. */
  openWorkers?(instanceId: string, doorway: Doorway): Promise<Opened>;
  /** Of the process that leads: how its workers fare. */
  workers?(): WorkerCounts;
  /** Of the other processes of the instance: of those that live, and what those counted that have ended. */
  figuresOfOthers(): Promise<Figures[]>;
  /** What they tell one another; undefined: there are no others. */
  readonly words?: Words;
}

export const PART = Symbol('Part');

const none = (): Promise<Figures[]> => Promise.resolve([]);

/** The whole instance. */
export const alone: Part = { mayLead: true, figuresOfOthers: none };

export const leaderOnly = (
  key: string,
  rest: Required<Pick<Part, 'openWorkers' | 'workers' | 'figuresOfOthers' | 'words'>>,
): Part => ({ mayLead: true, key, ...rest });

export const apiOnly = (
  rest: Required<Pick<Part, 'workerOf' | 'doorway' | 'port' | 'connections' | 'words'>>,
): Part => ({
  mayLead: false,
  figuresOfOthers: none,
  ...rest,
});
