import { request, type IncomingHttpHeaders } from 'node:http';

export interface HeardEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
  /** By performance.now(). */
  at?: number;
}

export interface EventClient {
  status: number;
  headers: IncomingHttpHeaders;
  events: HeardEvent[];
  /** The newest id, of events and of signs of life: from where it would go on. */
  lastId: string | undefined;
  isClosed: boolean;
  /** Stops reading, as a program does that hangs. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** A client of the event stream, as the standard for server-sent events says. Resolves when it is answered. */
export function openEventStream(
  url: string,
  headers: Record<string, string> = {},
  heard?: (event: HeardEvent) => void,
): Promise<EventClient> {
  return new Promise((resolve, reject) => {
    const call = request(url, { headers: { Accept: 'text/event-stream', ...headers }, agent: false });
    call.on('error', reject);
    call.on('response', (response) => {
      let rest = '';
      const client: EventClient = {
        status: response.statusCode!,
        headers: response.headers,
        events: [],
        lastId: undefined,
        isClosed: false,
        pause: () => response.pause(),
        resume: () => response.resume(),
        close: () => call.destroy(),
      };
      const take = (block: string): void => {
        const fields = new Map(
          block.split('\n').flatMap((line): [string, string][] => {
            const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
            return name ? [[name, value]] : [];
          }),
        );
        client.lastId = fields.get('id') ?? client.lastId;
        const data = fields.get('data');
        if (data === undefined) return;
        const event = {
          id: client.lastId!,
          type: fields.get('event') ?? 'message',
          data: JSON.parse(data) as Record<string, unknown>,
        };
        client.events.push(event);
        heard?.(event);
      };
      response.setEncoding('utf8');
      response.on('error', () => undefined);
      response.on('close', () => (client.isClosed = true));
      response.on('data', (text: string) => {
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop()!;
        blocks.forEach(take);
      });
      resolve(client);
    });
    call.end();
  });
}
