import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { StartError } from '../../../platform/errors.js';

/** Resources for the processes of an instance. */
export interface Room {
  cores: number;
  memoryBytes: number;
  /** Connections that the database gives to users who are no administrators of it. */
  connections: number;
}

/** With fewer, a worker takes from the others what it gives to callers. */
const coresWithWorkers = 4;
const mostByCores = 4;
/** A worker takes 180 MB, more with large lists. */
const memoryWithWorkers = 2 * 1024 ** 3;

/** Both pools of the process that leads, and what each process has for news, for notices and for the lease; its thread has one more. */
const connectionsOfLeader = 24;
/** With that of a worker's second pool, which it does not use. */
const besidePool = 4;
const pool = { all: 16, most: 10, least: 4 };

/** Connections that each worker has for calls. */
export const poolOf = (workers: number): number =>
  Math.max(pool.least, Math.min(pool.most, Math.floor(pool.all / workers)));

/** Largest number of connections of all processes of an instance together. */
export const connectionsFor = (workers: number): number =>
  workers === 0 ? connectionsOfLeader : connectionsOfLeader + workers * (poolOf(workers) + besidePool);

/** The number that was asked for, or for which there is room. */
export function workerCount(wanted: number | undefined, { cores, memoryBytes, connections }: Room): number {
  if (wanted !== undefined) {
    if (wanted === 0 || connectionsFor(wanted) <= connections) return wanted;
    throw new StartError(
      `http.workers is ${wanted}: that takes up to ${connectionsFor(wanted)} connections, and the database has ${connections} for its users`,
    );
  }
  if (cores < coresWithWorkers || memoryBytes < memoryWithWorkers) return 0;
  let count = Math.min(mostByCores, Math.floor(cores / 2));
  // A second instance has to find as many.
  while (count > 0 && 2 * connectionsFor(count) > connections) count--;
  return count;
}

/** Resources of this machine or, where they are less, of the container. */
export function roomHere(connections: number): Room {
  const limit = process.constrainedMemory();
  return {
    cores: Math.min(availableParallelism(), quota()),
    memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem(),
    connections,
  };
}

/** Cores that the control group of this process may use. */
function quota(): number {
  try {
    const [micros, period] = readFileSync('/sys/fs/cgroup/cpu.max', 'utf8').trim().split(' ').map(Number);
    return micros! > 0 ? micros! / period! : Infinity;
  } catch {
    return Infinity;
  }
}
