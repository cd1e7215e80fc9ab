import { fstatSync, writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { Log } from '../platform/log.js';

/**
 * Lines on stdout and stderr: the process that starts the agent decides where they go. A line that cannot be written, for a
 * full disk or a reader that has gone, is lost, and the agent goes on.
 */
export function ownLog(): Log {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  return {
    info: (message) => say(process.stdout, printable(message)),
    warn: (message) => say(process.stderr, printable(message)),
    error: (message, cause) =>
      say(process.stderr, cause === undefined ? printable(message) : `${printable(message)} ${inspect(cause)}`),
  };
}

/** A reader that is stuck does not make the agent keep all that it ever said. */
const mostUnread = 1024 * 1024;

/** Names that tasks have chosen begin no line, and do nothing on a terminal. */
// oxlint-disable-next-line no-control-regex
const printable = (message: string): string => message.replaceAll(/[\0-\x1f\x7f-\x9f]+/g, ' ');

function say(stream: NodeJS.WriteStream & { fd: number }, message: string): void {
  const line = `agent: ${message}\n`;
  // A stream on a file does not recover from a failure, and keeps all further lines in memory.
  if (!isFile(stream.fd)) return void (stream.writableLength < mostUnread && stream.write(line));
  try {
    writeSync(stream.fd, line);
  } catch {
    // Nothing can be said about it.
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}
