import { connect } from 'node:net';
import { Agent, fetch as fetchBy } from 'undici';
import { connectMuster, type Muster, type MusterOptions } from 'muster-client';
import { waitFor } from '../../support/wait-for.js';
import type { Lab } from '../lab/lab.js';

interface EndpointSlice {
  endpoints?: { addresses: string[]; conditions?: { ready?: boolean; terminating?: boolean } }[];
  ports?: { port: number }[];
}

const slicesPath = '/apis/discovery.k8s.io/v1/namespaces/muster/endpointslices';
/** kube-proxy applies changes about once a second, and load balancers look every few seconds. */
const lookEveryMillis = 6_000;

/**
 * A client of the service in the cluster. In place of kube-proxy, a new connection goes to one of the endpoints that were ready at the
 * last look, and stays there.
 */
export class ServiceClient {
  /** Tries of calls that brought no answer, or one of the server's failures, and how often. */
  readonly failedTries = new Map<string, number>();
  readonly muster: Muster;
  private readonly url: string | URL;
  private endpoints: { host: string; port: number }[] = [];
  private readonly dispatcher: Agent;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly lab: Lab,
    { keepsConnections, ...options }: MusterOptions & { keepsConnections: boolean },
  ) {
    this.dispatcher = new Agent({
      pipelining: keepsConnections ? 1 : 0,
      connect: (_where, callback) => {
        const target = this.endpoints[Math.floor(Math.random() * this.endpoints.length)];
        const socket = connect(target ?? { host: '127.0.0.1', port: 1 });
        socket.once('connect', () => callback(null, socket)).on('error', (cause) => callback(cause, null));
      },
    });
    this.url = options.url;
    this.muster = connectMuster({ ...options, fetch: (...words) => this.fetch(...words) });
    this.timer = setInterval(() => void this.look().catch(() => undefined), lookEveryMillis);
  }

  ready = (): Promise<unknown> => waitFor('endpoints of the service', async () => (await this.look()).length > 0);

  /** What an address of the service leads to. */
  text = async (path: string): Promise<string> =>
    (await fetchBy(new URL(path, this.url), { dispatcher: this.dispatcher })).text();

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.dispatcher.destroy();
  }

  private async look() {
    const query = { labelSelector: 'kubernetes.io/service-name=muster' };
    const { items } = await this.lab.api.call<{ items: EndpointSlice[] }>(slicesPath, { query });
    this.endpoints = items.flatMap(({ endpoints, ports }) =>
      (endpoints ?? [])
        .filter(({ conditions }) => conditions?.ready)
        .map(({ addresses }) => ({ host: addresses[0]!, port: ports![0]!.port })),
    );
    return this.endpoints;
  }

  private async fetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    try {
      const words = [input, { ...init, dispatcher: this.dispatcher }] as Parameters<typeof fetchBy>;
      const response = (await fetchBy(...words)) as unknown as Response;
      if (response.status >= 500) this.note(`${response.status} ${(await codeOf(response.clone())) ?? ''}`.trim());
      return response;
    } catch (cause) {
      this.note(String(((cause as Error).cause as { code?: string } | undefined)?.code ?? cause));
      throw cause;
    }
  }

  private note(what: string): void {
    this.failedTries.set(what, (this.failedTries.get(what) ?? 0) + 1);
  }
}

const codeOf = async (response: Response): Promise<string | undefined> =>
  ((await response.json().catch(() => ({}))) as { code?: string }).code;
