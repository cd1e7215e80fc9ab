import type { StatsFs } from 'node:fs';
import { bytesOfMb } from '../../platform/files.js';

const mostReservedBytes = bytesOfMb(512);
const reservedShare = 0.02;

/** So much of a disk stays free for the agent and for the tasks that run. */
export function reservedBytes(
  { reservedDiskMb }: { reservedDiskMb?: number },
  { blocks, bsize }: Pick<StatsFs, 'blocks' | 'bsize'>,
): number {
  const usual = Math.min(mostReservedBytes, blocks * bsize * reservedShare);
  return reservedDiskMb === undefined ? usual : bytesOfMb(reservedDiskMb);
}

/** Nothing of a task is removed before. */
export const leastKeptMillis = 15 * 60 * 1000;

/** True when more than this percentage of the usable disk is in use. */
export function isTooFull({ blocks, bavail, bfree }: StatsFs, highWaterPct: number): boolean {
  const used = blocks - bfree;
  return (used / (used + bavail)) * 100 > highWaterPct;
}
