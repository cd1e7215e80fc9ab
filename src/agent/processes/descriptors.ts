import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** In octal, as the kernel writes flags: closed when the process becomes another program. */
const closedOnExec = 0o2000000;

/**
 * Closes what the process that started this one left open in it, but for the usual three: each program that it starts in turn
 * would get it too. What Node.js opens itself is closed on exec. For a process that is an agent and nothing else.
 */
export function closeInherited(): void {
  // A channel to the parent process is Node's own, and cannot be told from the rest. It is a small number: see the shim.
  const first = process.channel ? 10 : 3;
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor >= first && isInherited(descriptor)) closeSync(descriptor);
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const [, flags = ''] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return flags !== '' && (Number.parseInt(flags, 8) & closedOnExec) === 0;
  } catch {
    // It was that of the listing itself.
    return false;
  }
}
