import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

/** Calls as no HTTP client of ours would write them. */
export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface RawCall {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** One call after the other on a connection that is kept; the path goes out letter by letter. */
export class RawCaller {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(private readonly url: string) {}

  call(path: string, { method = 'GET', headers: given, body }: RawCall = {}): Promise<RawAnswer> {
    // Node.js sends the body of a DELETE without saying how long it is.
    const headers = { ...given, ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }) };
    const { hostname, port } = new URL(this.url);
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ agent: this.agent, hostname, port, path, method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body: text }));
        response.on('error', reject);
      });
      sent.on('error', reject).end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

/** These bytes and nothing else, on a connection of their own; all that comes back until the service hangs up, which it must do. */
export async function sendBytes(url: string, ...parts: (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let got = '';
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()).on('error', () => undefined));
  socket.on('data', (bytes) => (got += bytes.toString('latin1')));
  for (const part of parts) {
    await new Promise<void>((resolve) =>
      socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part, () => resolve()),
    );
  }
  await closed;
  return got;
}

/** The answers in what came back, without what differs from call to call (an id that begins with `mine` stays); headers in order. */
export const comparable = (got: string): string[] =>
  got
    .replaceAll(/^(Date|X-Request-Id): (?!mine).*$/gm, '$1: *')
    .replaceAll(/"requestId":"(?!mine)[^"]*"/g, '"requestId":"*"')
    .split(/(?=HTTP\/1.1 )/)
    .map((answer) => {
      const [head = '', ...body] = answer.split('\r\n\r\n');
      return [...head.split('\r\n').toSorted(), ...body].join('\n');
    });

/** The status of each answer in what came back. */
export const statusesIn = (got: string): number[] =>
  [...got.matchAll(/^HTTP\/1\.[01] (\d{3}) /gm)].map(([, status]) => Number(status));
