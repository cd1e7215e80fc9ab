import { existsBelow, openFileBelow } from '../sandbox/below.js';
import type { InvalidCommand } from './command-words.js';

/** The process that commands are about, where the task itself names one in a file; undefined: it does not. */
export async function taskPid(root: string, path: string): Promise<number | undefined | InvalidCommand> {
  if (!(await existsBelow(root, path))) return undefined;
  const opened = await openFileBelow(root, path, 'NONE');
  if (!opened) return { invalid: `${path} is not a file that can be read` };
  try {
    const { buffer, bytesRead } = await opened.handle.read(Buffer.alloc(longestPid), 0, longestPid, 0);
    const text = buffer.toString('latin1', 0, bytesRead).trim();
    return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : { invalid: `${path} does not hold a process id` };
  } finally {
    await opened.handle.close();
  }
}

export const longestPid = 32;
