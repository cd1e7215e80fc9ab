import { constants, open } from 'node:fs/promises';
import { isMissing } from '../files.js';
import type { InvalidCommand } from './command-words.js';

const longestPid = 32;

/**
 * The process that commands are about, where the task itself names one in a file; undefined: it does not. The file is the
 * task's: whatever it is, nothing waits for it.
 */
export async function taskPid(file: string): Promise<number | undefined | InvalidCommand> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      if (!(await handle.stat()).isFile()) return { invalid: `${file} is not a file` };
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(longestPid), 0, longestPid, 0);
      const text = buffer.toString('latin1', 0, bytesRead).trim();
      return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : { invalid: `${file} does not hold a process id` };
    } finally {
      await handle.close();
    }
  } catch (cause) {
    return isMissing(cause) ? undefined : { invalid: `${file} cannot be read` };
  }
}
