import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  body,
  type Client,
  connect,
  contract,
  del,
  type Entry,
  get,
  type HandleRequest,
  HttpErrorException,
  path,
  post,
} from 'rest-contract';
import { fetchBackend, type FetchOptions } from 'rest-contract/fetch';
import { Agent, fetch, type RequestInit as FetchInit } from 'undici';
import { z } from 'zod';
import {
  type BalancerBodySettings,
  type BalancerChange,
  type BalancerRequestBody,
  defaultUpstreamGroup,
  deleteBody,
  type RemovedService,
  requestIdText,
  updateBody,
  type Upstream,
  upstreamsBody,
} from '../../core/load-balancer/index.js';
import { type LoadBalancerMethod, type LoadBalancerState, loadBalancerStates } from '../../core/model/enums.js';
import type { LoadBalancerRequestId, LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { Clock } from '../clock.js';
import { LoadBalancer } from './load-balancer.js';

const upstream = z.object({
  upstream: z.string(),
  requestId: z.string(),
  rackId: z.string().optional(),
  group: z.string(),
});

const requestBody: z.ZodType<BalancerRequestBody, BalancerRequestBody> = z.object({
  loadBalancerRequestId: z.string(),
  loadBalancerService: z.object({
    serviceId: z.string(),
    owners: z.array(z.string()),
    serviceBasePath: z.string().optional(),
    additionalPaths: z.array(z.string()),
    loadBalancerGroups: z.array(z.string()),
    options: z.record(z.string(), z.unknown()).optional(),
    templateName: z.string().optional(),
    domains: z.array(z.string()),
    edgeCacheDomains: z.array(z.string()),
    preResolveUpstreamDNS: z.boolean(),
  }),
  addUpstreams: z.array(upstream),
  removeUpstreams: z.array(upstream),
  replaceUpstreams: z.array(upstream),
  action: z.enum(['UPDATE', 'DELETE']),
  noValidate: z.boolean(),
  noReload: z.boolean(),
  upstreamUpdateOnly: z.boolean(),
  noDuplicateUpstreams: z.boolean(),
});

/** The members of an answer that are read; load balancers send more. */
const answer = z.object({ loadBalancerState: z.enum(loadBalancerStates), message: z.string().nullish() });
export type BalancerAnswer = z.infer<typeof answer>;

const changeId = path(z.string());

/** The load balancer's side of `loadBalancerUri`: changes by id, each carried out once however often it is sent. */
export const LoadBalancerApi = contract('LoadBalancerApi', {
  enqueue: post({ request: body(requestBody) }, answer, { path: '' }),
  state: get({ changeId }, answer, { path: '' }),
  cancel: del({ changeId }, answer, { path: '' }),
});

/** Its other address, which tells what a service consists of. Upstreams that others brought in may lack what we send. */
export const BalancerStateApi = contract('BalancerStateApi', {
  service: get(
    { serviceId: path(z.string()) },
    z.object({
      upstreams: z.array(
        z.object({
          upstream: z.string(),
          requestId: z.string().nullish(),
          rackId: z.string().nullish(),
          group: z.string().nullish(),
        }),
      ),
    }),
    { path: '' },
  ),
});

export interface HttpLoadBalancerSettings extends BalancerBodySettings {
  loadBalancerUri: string;
  loadBalancerQueryParams: Readonly<Record<string, string>>;
  loadBalancerRequestTimeoutMillis: number;
}

/** Answers are short; what is longer comes from another server. */
const maxAnswerBytes = 16 * 1024 * 1024;
const maxMessageLength = 1_000;
const gatewayTimeout = 504;
const knownOtherwise = 'is already enqueued with different parameters';

/** The load balancer behind loadBalancerUri. */
export class HttpLoadBalancer extends LoadBalancer implements OnApplicationShutdown {
  override readonly enabled = true;
  private readonly log = new Logger(HttpLoadBalancer.name);
  private readonly dispatcher: Agent;
  private readonly changes: Client<typeof LoadBalancerApi>;
  private readonly services: Client<typeof BalancerStateApi>;
  private readonly uri: string;

  constructor(
    private readonly settings: HttpLoadBalancerSettings,
    private readonly clock: Clock,
  ) {
    super();
    const { loadBalancerUri, loadBalancerQueryParams, loadBalancerRequestTimeoutMillis: timeoutMs } = settings;
    this.uri = loadBalancerUri.replace(/\/+$/, '');
    this.dispatcher = new Agent({ connect: { timeout: timeoutMs }, headersTimeout: 0, bodyTimeout: 0 });
    const sending: FetchOptions = {
      fetch: (url, init) => fetch(url, { ...(init as FetchInit), dispatcher: this.dispatcher }),
    };
    const options = { timeoutMs, maxResponseBytes: maxAnswerBytes };
    const { origin, pathname } = new URL(this.uri);
    const backend = fetchBackend(origin, sending);
    const below = (path: string, query: readonly Entry[]) => under(backend, segments(path), query);
    this.changes = connect(LoadBalancerApi, below(pathname, Object.entries(loadBalancerQueryParams)), options);
    this.services = connect(BalancerStateApi, below(pathname.replaceAll('request', 'state'), []), options);
  }

  override enqueue(id: LoadBalancerRequestId, change: BalancerChange): Promise<LoadBalancerUpdate> {
    return this.send(id, 'ENQUEUE', updateBody(id, change, this.settings));
  }

  override removeUpstreams(
    id: LoadBalancerRequestId,
    of: Pick<BalancerChange, 'request' | 'deploy'>,
    upstreams: readonly Upstream[],
  ): Promise<LoadBalancerUpdate> {
    return this.send(id, 'ENQUEUE', upstreamsBody(id, of, [], [...upstreams], this.settings));
  }

  override deleteService(id: LoadBalancerRequestId, service: RemovedService): Promise<LoadBalancerUpdate> {
    return this.send(id, 'DELETE', deleteBody(id, service));
  }

  override state(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate> {
    const changeId = requestIdText(id);
    return this.ask(id, 'CHECK_STATE', `${this.uri}/${changeId}`, 'UNKNOWN', () => this.changes.state({ changeId }));
  }

  override async cancel(id: LoadBalancerRequestId): Promise<LoadBalancerUpdate> {
    const changeId = requestIdText(id);
    const uri = `${this.uri}/${changeId}`;
    return this.settle(await this.ask(id, 'CANCEL', uri, 'UNKNOWN', () => this.changes.cancel({ changeId })));
  }

  override async upstreams(serviceId: string): Promise<Upstream[]> {
    try {
      const { upstreams } = await this.services.service({ serviceId });
      return upstreams.map(({ upstream, requestId, rackId, group }) => ({
        upstream,
        requestId: requestId ?? '',
        rackId: rackId ?? undefined,
        group: group ?? defaultUpstreamGroup,
      }));
    } catch (cause) {
      this.log.warn(`The upstreams of service '${serviceId}' cannot be read: ${messageOf(cause)}`);
      return [];
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dispatcher.destroy();
  }

  private async send(
    id: LoadBalancerRequestId,
    method: LoadBalancerMethod,
    request: BalancerRequestBody,
  ): Promise<LoadBalancerUpdate> {
    return this.settle(await this.ask(id, method, this.uri, 'FAILED', () => this.changes.enqueue({ request })));
  }

  /** It was sent before, when other tasks were there: what became of it then is the answer. */
  private settle(update: LoadBalancerUpdate): Promise<LoadBalancerUpdate> | LoadBalancerUpdate {
    const isKnown = update.loadBalancerState === 'FAILED' && update.message?.includes(knownOtherwise) === true;
    return isKnown ? this.state(update.loadBalancerRequestId) : update;
  }

  private async ask(
    loadBalancerRequestId: LoadBalancerRequestId,
    method: LoadBalancerMethod,
    uri: string,
    whenRefused: LoadBalancerState,
    call: () => Promise<BalancerAnswer>,
  ): Promise<LoadBalancerUpdate> {
    const update = { loadBalancerRequestId, timestamp: this.clock.now(), method, uri };
    try {
      const { loadBalancerState, message } = await call();
      return { loadBalancerState, ...update, message: message ?? undefined };
    } catch (cause) {
      // Only a refusal says that nothing was done.
      const isRefused = cause instanceof HttpErrorException && cause.status !== gatewayTimeout;
      return { loadBalancerState: isRefused ? whenRefused : 'UNKNOWN', ...update, message: messageOf(cause) };
    }
  }
}

/** Puts one path in front of every call, and one query behind it. */
const under =
  (backend: HandleRequest, base: readonly string[], query: readonly Entry[]): HandleRequest =>
  (request) =>
    backend({ ...request, path: [...base, ...request.path], query: [...request.query, ...query] });

const segments = (path: string): string[] => path.split('/').filter(Boolean).map(decodeURIComponent);

function messageOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const shown = cause instanceof HttpErrorException ? `HTTP ${cause.status}: ${text}` : text;
  return shown.slice(0, maxMessageLength);
}
