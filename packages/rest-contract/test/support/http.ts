import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect as openSocket } from 'node:net';
import { afterAll } from 'vitest';

/** Serves on a free port of this machine until the test file ends. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  afterAll(() => close(server));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export const close = (server: Server) =>
  new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** Sends bytes as they are, for requests no client would make; resolves with everything that came back. */
export function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = openSocket(Number(port), hostname, () => socket.write(text));
    socket.setEncoding('utf8');
    socket.on('data', (piece: string) => (answer += piece));
    socket.on('end', () => resolve(answer));
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 5_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`Waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
