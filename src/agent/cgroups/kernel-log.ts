import { closeSync, constants, openSync, readSync } from 'node:fs';
import { errorCode } from '../../platform/files.js';

/** One record of the log, with room for what newer kernels add. */
const recordBytes = 16 * 1024;

/** So many records hold the largest logs that kernels are set up with; a broken device has no end. */
const mostRecords = 500_000;

/**
 * True when the log of the kernel shows that the memory limit of this cgroup has ended a process. The counter of the
 * cgroup goes with the cgroup, and an engine removes it as soon as its container has ended. `mark`: a part of the
 * cgroup's path that no other has. False when the log cannot be read, and when the kernel logged too much at that
 * moment.
 */
export function saysOutOfMemory(mark: string, path = '/dev/kmsg'): boolean {
  try {
    const log = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return hasRecord(log, (text) => isEndByLimit(text, mark));
    } finally {
      closeSync(log);
    }
  } catch {
    return false;
  }
}

/** In the words of kernels since 5.0, and of older ones. The name of a program, which stands there, too, has no slash. */
export function isEndByLimit(text: string, mark: string): boolean {
  const [, group = ''] = /(?:,oom_memcg=|killed as a result of limit of )(\/[^,\n]*)/.exec(text) ?? [];
  return group.includes(mark);
}

/** Each read answers one record. */
function hasRecord(log: number, wanted: (text: string) => boolean): boolean {
  const record = Buffer.alloc(recordBytes);
  for (let count = 0; count < mostRecords; count++) {
    try {
      const length = readSync(log, record);
      if (length === 0) return false;
      if (wanted(record.toString('utf8', 0, length))) return true;
    } catch (cause) {
      // Records that were overwritten meanwhile are passed over; after the last one there is nothing to wait for.
      if (errorCode(cause) !== 'EPIPE') return false;
    }
  }
  return false;
}
