import { createServer } from 'node:net';
import { errorCode } from './files.js';

/** Can a task listen on this port now, on any address? Asked by listening for a moment. */
export async function isPortFree(port: number): Promise<boolean> {
  const onBoth = await tryListen(port, '::');
  return onBoth === 'NO_SUCH_ADDRESS' ? (await tryListen(port, '0.0.0.0')) === 'FREE' : onBoth === 'FREE';
}

function tryListen(port: number, host: string): Promise<'FREE' | 'TAKEN' | 'NO_SUCH_ADDRESS'> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (cause) => {
      const isAddressMissing = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(errorCode(cause) ?? '');
      resolve(isAddressMissing ? 'NO_SUCH_ADDRESS' : 'TAKEN');
    });
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve('FREE')));
  });
}

/** Ports that were found taken by something else. They are offered again once they are free. */
export class PortsInUse {
  private readonly taken = new Set<number>();

  constructor(private readonly changed: () => void) {}

  list(): number[] {
    return [...this.taken].toSorted((a, b) => a - b);
  }

  /** The first that is taken, if any. */
  async findTaken(ports: readonly number[]): Promise<number | undefined> {
    for (const port of ports) {
      if (await isPortFree(port)) continue;
      this.note(port);
      return port;
    }
    return undefined;
  }

  note(port: number): void {
    if (this.taken.has(port)) return;
    this.taken.add(port);
    this.changed();
  }

  async lookAgain(): Promise<void> {
    for (const port of this.list()) {
      if (!(await isPortFree(port))) continue;
      this.taken.delete(port);
      this.changed();
    }
  }
}
