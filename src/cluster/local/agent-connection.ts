import { Agent, request, type Dispatcher } from 'undici';
import { z } from 'zod';
import { readEndpoint, sharedSecret } from '../../agent/agent-folder.js';
import { isAlive } from '../../agent/process-identity.js';
import type { Endpoint } from '../../agent/protocol.js';
import { StaleEpochError } from '../cluster-driver.js';

const ErrorBody = z.object({ message: z.string().default('no reason given'), epoch: z.number().optional() });

/** Nobody answered, or not in time: whether the call was carried out is not known. */
export class AgentUnreachable extends Error {}
/** The agent answered that it cannot do this. */
export class AgentRefused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export interface CallOptions {
  method?: 'GET' | 'POST';
  query?: Record<string, string | number>;
  body?: unknown;
  /** Until the answer begins, and between its parts. */
  timeoutMillis: number;
  signal?: AbortSignal;
  /** Sent with the call; named by the error when it is over. */
  epoch?: number;
}

/** Calls to the agent of one folder, wherever it listens now. */
export class AgentConnection {
  private readonly dispatcher = new Agent({ keepAliveTimeout: 30_000, connect: { timeout: 2_000 } });

  private secret: { agent: string; value: string } | undefined;

  constructor(private readonly agentFolder: string) {}

  /** undefined: 404, there is no such thing. Throws AgentUnreachable, AgentRefused or StaleEpochError. */
  async call<T>(path: string, options: CallOptions): Promise<T | undefined> {
    const response = await this.open(path, options);
    if (!response) return undefined;
    try {
      return (await response.body.json()) as T;
    } catch (cause) {
      throw new AgentUnreachable(`The answer to ${path} broke off`, { cause });
    }
  }

  /** The same for answers that are not JSON. The caller reads or destroys the body. */
  async open(path: string, options: CallOptions): Promise<Dispatcher.ResponseData | undefined> {
    const response = await this.send(path, options);
    if (response.statusCode === 200) return response;
    const body = ErrorBody.safeParse(await response.body.json().catch(() => ({})));
    const message = body.data?.message ?? `HTTP ${response.statusCode}`;
    if (response.statusCode === 404) return undefined;
    if (response.statusCode === 409) throw new StaleEpochError(options.epoch ?? 0);
    throw new AgentRefused(response.statusCode, message);
  }

  async close(): Promise<void> {
    await this.dispatcher.destroy();
  }

  private async send(path: string, options: CallOptions): Promise<Dispatcher.ResponseData> {
    const endpoint = await this.endpoint();
    const secret = await this.secretOf(endpoint);
    const hasBody = options.body !== undefined;
    try {
      return await request(`http://${endpoint.host}:${endpoint.port}${path}`, {
        dispatcher: this.dispatcher,
        method: options.method ?? 'GET',
        query: options.query,
        body: hasBody ? JSON.stringify(options.body) : undefined,
        headers: {
          authorization: `Bearer ${secret}`,
          ...(hasBody && { 'content-type': 'application/json' }),
        },
        signal: options.signal,
        headersTimeout: options.timeoutMillis,
        bodyTimeout: options.timeoutMillis,
      });
    } catch (cause) {
      throw new AgentUnreachable(`No answer from the agent at ${endpoint.host}:${endpoint.port}`, { cause });
    }
  }

  /** Read again for each new agent: its folder may have been emptied before it came. */
  private async secretOf({ pid, startTime }: Endpoint): Promise<string> {
    const agent = `${pid} ${startTime}`;
    if (this.secret?.agent !== agent) this.secret = { agent, value: await sharedSecret(this.agentFolder) };
    return this.secret.value;
  }

  /** Only of a live agent: another program may listen on the port of a dead one, and must not be told the secret. */
  private async endpoint(): Promise<Endpoint> {
    const endpoint = await readEndpoint(this.agentFolder).catch(() => undefined);
    if (!endpoint || !isAlive(endpoint)) throw new AgentUnreachable(`No agent runs on ${this.agentFolder}`);
    return endpoint;
  }
}
