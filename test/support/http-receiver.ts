import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedCall {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: unknown;
}

export interface HttpReceiver {
  url: string;
  calls: ReceivedCall[];
  /** Answer to the next calls: a status, or a function that answers by itself (or never). */
  answer: number | ((call: ReceivedCall, response: ServerResponse) => void);
  /** Calls that have not been answered yet. */
  inFlight: number;
  close(): Promise<void>;
}

/** A real HTTP server that remembers what it was sent. Bodies are JSON, or, for `readsForms`, anything. */
export async function startReceiver({ readsForms = false } = {}): Promise<HttpReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    receiver.inFlight += 1;
    response.on('close', () => (receiver.inFlight -= 1));
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = text === '' || readsForms ? undefined : (JSON.parse(text) as unknown);
      const call = { method: request.method!, url: request.url!, headers: request.headers, text, body };
      receiver.calls.push(call);
      const { answer } = receiver;
      if (typeof answer === 'function') answer(call, response);
      else response.writeHead(answer).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: HttpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    answer: 200,
    inFlight: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
