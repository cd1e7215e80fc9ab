import { readFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, ProxyAgent, request, type Dispatcher } from 'undici';
import { messageOf } from '../../platform/files.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { withSignal } from '../../platform/async.js';

/** The API server answered that it does not do this. */
export class ApiRefused extends Error {
  constructor(
    readonly status: number,
    /** Reason of the API, such as AlreadyExists. */
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

interface Credentials {
  dispatcher: Dispatcher;
  headers: Record<string, string>;
}

/** No answer, or none in time: whether the call was carried out is not known. */
export class ApiUnreachable extends Error {}

export interface ApiCall {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  /** Asks for the metadata alone of an object that is made or changed: the rest is as it was sent. */
  metadataOnly?: boolean;
  signal?: AbortSignal;
}

/** Tokens are given for minutes at least; to read them and to compare certificates takes longer than a call. */
const credentialsMillis = 1_000;

/** Kills and cordons that are under way at a time, beside the launches. */
export const killsAtOnce = ({ callsAtOnce }: Pick<KubernetesSettings, 'callsAtOnce'>): number =>
  Math.ceil(callsAtOnce / 4);
/** Calls besides, such as watches, looks at the lease and readers of output. */
const furtherCalls = 16;

/** No object is larger than what its store takes, and lists are asked for in pages. */
const longestAnswerBytes = 64 * 2 ** 20;
const metadataType = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const longestRefusalBytes = 2 ** 20;

/** One event of a watch, on one line. */
const longestLineBytes = 16 * 2 ** 20;

/**
 * Calls to the API server. The client library says where it is and who we are (kubeconfig, programs and files that give tokens, pod of
 * the cluster); the calls themselves keep their connections, which the library's do not, and are bounded in time and bytes.
 */
export class KubernetesApi {
  private config = new KubeConfig();
  private dispatcher: { for: string; agent: Dispatcher } | undefined;
  /** The server does not take our credentials: they are over, or replaced. */
  private isRefused = false;
  private known: { until: number; credentials: Promise<Credentials> } | undefined;

  private constructor(private readonly settings: KubernetesSettings) {}

  static async open(settings: KubernetesSettings): Promise<KubernetesApi> {
    const api = new KubernetesApi(settings);
    await api.load();
    return api;
  }

  private async load(): Promise<void> {
    const { kubeconfig, context } = this.settings;
    const config = new KubeConfig();
    if (kubeconfig === undefined) config.loadFromDefault();
    // A path in it stands beside it.
    else if (await readFile(kubeconfig)) config.loadFromFile(kubeconfig);
    if (context !== undefined) config.setCurrentContext(context);
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('The kubeconfig names no cluster for its context');
    if (cluster.proxyUrl && !/^https?:\/\/[^/]+\/?$/.test(cluster.proxyUrl))
      throw new Error('The kubeconfig names a proxy that is not http://host:port or https://host:port');
    this.config = config;
  }

  get address(): string {
    return this.config.getCurrentCluster()!.server;
  }

  /** Namespace of the context. */
  get namespace(): string | undefined {
    return this.config.getContextObject(this.config.getCurrentContext())?.namespace;
  }

  /** Throws ApiUnreachable or ApiRefused. */
  async call<T>(path: string, call: ApiCall = {}): Promise<T> {
    return withSignal([call.signal, AbortSignal.timeout(this.settings.callTimeoutMillis)], async (signal) => {
      const { body } = await this.send(path, { ...call, signal });
      try {
        return JSON.parse(await textOf(body, longestAnswerBytes)) as T;
      } catch (cause) {
        throw new ApiUnreachable(`No readable answer from ${this.address}`, { cause });
      }
    });
  }

  /** The bytes of the answer as they come, until `signal` or the server ends them. */
  async stream(path: string, call: ApiCall): Promise<AsyncIterable<Buffer>> {
    return (await this.send(path, call)).body;
  }

  /** Answer as lines of JSON. */
  async *lines(path: string, call: ApiCall): AsyncGenerator<unknown> {
    let rest: Buffer[] = [];
    let length = 0;
    for await (const chunk of await this.stream(path, call)) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        rest.push(chunk.subarray(from, end));
        const line = Buffer.concat(rest).toString();
        [rest, length, from] = [[], 0, end + 1];
        if (line !== '') yield JSON.parse(line);
      }
      if (from < chunk.length) rest.push(chunk.subarray(from));
      length += chunk.length - from;
      if (length > longestLineBytes) throw new ApiUnreachable('An event of the API server is too long');
    }
  }

  async close(): Promise<void> {
    await this.dispatcher?.agent.destroy();
  }

  private async send(
    path: string,
    { method = 'GET', query = {}, body, metadataOnly = false, signal }: ApiCall,
  ): Promise<Dispatcher.ResponseData> {
    const url = new URL(this.address.replace(/\/+$/, '') + path);
    // Nothing reads the warnings for which it would read each object twice.
    if (method !== 'GET' && method !== 'DELETE') url.searchParams.set('fieldValidation', 'Ignore');
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    let answer: Dispatcher.ResponseData;
    try {
      const { dispatcher, headers } = await this.credentials();
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      answer = await request(url, {
        method,
        dispatcher,
        signal,
        headers: {
          accept: metadataOnly ? metadataType : 'application/json',
          ...(body !== undefined && { 'content-type': type }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (cause) {
      throw new ApiUnreachable(`No answer from ${this.address}: ${messageOf(cause)}`, { cause });
    }
    if (answer.statusCode === 401) this.isRefused = true;
    if (answer.statusCode >= 300) throw await refusal(answer);
    return answer;
  }

  private credentials(): Promise<Credentials> {
    if (!this.known || performance.now() > this.known.until) {
      const credentials = this.askForCredentials();
      this.known = { until: performance.now() + credentialsMillis, credentials };
      credentials.catch(() => (this.known = undefined));
    }
    return this.known.credentials;
  }

  /** Asks the library again and again: tokens are given for a while only. Those in a kubeconfig it reads only once. */
  private async askForCredentials(): Promise<Credentials> {
    if (this.isRefused) await this.load();
    this.isRefused = false;
    const options: RequestOptions = {};
    await this.config.applyToHTTPSOptions(options);
    const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized, auth } = options;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers ?? {}))
      if (value !== undefined) headers[name] = String(value);
    if (auth) headers['authorization'] = `Basic ${Buffer.from(auth).toString('base64')}`;
    const connect = { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } as Agent.Options['connect'];
    const isFor = createHash('sha256').update(JSON.stringify(connect)).digest('hex');
    if (this.dispatcher?.for !== isFor) {
      // Those whose credentials are over end with what is under way on them.
      void this.dispatcher?.agent.close();
      // Watches stay open beside the calls, and how long they are waited for is theirs to say.
      const tls = { ...(connect as object), timeout: this.settings.callTimeoutMillis };
      const connections = this.settings.callsAtOnce + killsAtOnce(this.settings) + furtherCalls;
      const limits = { connections, headersTimeout: 0, bodyTimeout: 0 };
      const proxy = this.config.getCurrentCluster()!.proxyUrl;
      const agent = proxy
        ? new ProxyAgent({ ...limits, uri: proxy, requestTls: tls })
        : new Agent({ ...limits, connect: tls });
      this.dispatcher = { for: isFor, agent };
    }
    return { dispatcher: this.dispatcher.agent, headers };
  }
}

async function refusal({ statusCode, body }: Dispatcher.ResponseData): Promise<ApiRefused> {
  const text = await textOf(body, longestRefusalBytes).catch(() => '');
  let said: { reason?: unknown; message?: unknown } = {};
  try {
    said = JSON.parse(text) as typeof said;
  } catch {
    // A proxy on the way answers with a page.
  }
  const reason = typeof said?.reason === 'string' ? said.reason : '';
  const message = typeof said?.message === 'string' ? said.message.slice(0, 1_000) : `status ${statusCode}`;
  return new ApiRefused(statusCode, reason, message);
}

async function textOf(body: AsyncIterable<Buffer>, atMost: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > atMost) throw new Error('The answer is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
