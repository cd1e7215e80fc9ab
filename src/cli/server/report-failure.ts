import { usersListeningOn } from '../../agent/file-address/port-holders.js';
import { StartError } from '../../platform/errors.js';
import { fileProblem } from '../../platform/file-problem.js';
import { writeError } from '../output/streams.js';

/** One clear line for what the person at the terminal can put right; everything we know for the rest. */
export function reportFailure(cause: unknown): void {
  writeError(`${describeFailure(cause)}\n`);
}

/** The line, or the lines. */
export function describeFailure(cause: unknown): string {
  if (cause instanceof StartError) return cause.message;
  const { code, address, port, syscall, path } = cause as NodeJS.ErrnoException & { address?: string; port?: number };
  if (syscall === 'listen' && code === 'EADDRINUSE') {
    const users = port === undefined ? [] : usersListeningOn(port);
    const whose = users.length > 0 ? ` (it belongs to user ${users.join(' or ')})` : '';
    return `Port ${port} on ${address} is taken by another program: set MUSTER_PORT to a free one${whose}`;
  }
  if (syscall === 'listen') return `Cannot listen on ${address}:${port}: ${code}`;
  if (code === 'EACCES' || code === 'EROFS' || code === 'ENOSPC')
    return `Cannot write ${path}: ${fileProblem(cause)} (--data-dir or MUSTER_DATA_DIR chooses the data directory)`;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
