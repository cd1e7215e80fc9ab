import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Address at which the server of a line listens: a port, or a socket of this machine. */
export type TcpTarget = { host: string; port: number } | { path: string };

/** A line between a client and a server that a test can cut or freeze. */
export interface TcpProxy {
  port: number;
  /** The server that new connections lead to. */
  target: TcpTarget;
  /** Number of clients that have reached the server so far. */
  readonly connections: number;
  /** Existing connections break, new ones are refused at once. */
  cut(): void;
  /** Nothing is carried any more, but connections stay open: what a lost network looks like. */
  freeze(): void;
  /**
   * Throws away all bytes from one side, or from both, while connections seem open: a network that loses everything.
   */
  swallow(from: 'client' | 'server' | 'both'): void;
  /** Carries again, what was held back included. Connections that have lost something break. */
  restore(): void;
  close(): Promise<void>;
}

/** `address`: of this machine, at which it listens. */
export async function startTcpProxy(target: TcpTarget, address = '127.0.0.1'): Promise<TcpProxy> {
  let connections = 0;
  const pairs = new Set<[Socket, Socket]>();
  const lossy = new Set<Socket>();
  const each = (act: (socket: Socket) => void): void => [...pairs].flat().forEach(act);
  let mode: 'open' | 'cut' | 'frozen' = 'open';
  let swallowed: 'client' | 'server' | 'both' | undefined;
  const server = createServer((near) => {
    if (mode === 'cut') return void near.destroy();
    const far = connect(proxy.target);
    far.once('connect', () => connections++);
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near]] as [Socket, Socket][]) {
      const side = from === near ? 'client' : 'server';
      from.on('data', (chunk) => {
        if (swallowed === side || swallowed === 'both') lossy.add(near);
        else to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
        lossy.delete(near);
      });
      if (mode === 'frozen') from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    target,
    get connections() {
      return connections;
    },
    cut: () => {
      mode = 'cut';
      each((socket) => socket.destroy());
    },
    freeze: () => {
      mode = 'frozen';
      each((socket) => socket.pause());
    },
    swallow: (from) => {
      swallowed = from;
    },
    restore: () => {
      mode = 'open';
      swallowed = undefined;
      for (const socket of lossy) socket.destroy();
      each((socket) => socket.resume());
    },
    close: () => {
      each((socket) => socket.destroy());
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}

/** Address at which the server of a database listens. */
export function targetOf(databaseUrl: string): TcpTarget {
  const { hostname, port } = new URL(databaseUrl);
  const host = decodeURIComponent(hostname);
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port || 5432}` } : { host, port: Number(port) || 5432 };
}

/** URL of the same database by way of the proxy. */
export function throughProxy(databaseUrl: string, proxy: TcpProxy, address = '127.0.0.1'): string {
  const url = new URL(databaseUrl);
  url.hostname = address;
  url.port = String(proxy.port);
  return url.toString();
}
