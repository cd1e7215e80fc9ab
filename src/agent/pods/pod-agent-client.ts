import { connect } from 'rest-contract';
import { fetchBackend, type FetchOptions } from 'rest-contract/fetch';
import { Agent, fetch } from 'undici';
import { bearer } from '../wire/agent-api.js';
import { clientTls, keysOf } from './keys.js';
import { PodAgentApi, type TrustedPodAgent } from './pod-agent-api.js';

interface PodAgentAddress {
  host: string;
  port: number;
  /** Name of the node. */
  node: string;
  /** That of the installation. */
  secret: string;
  /** Until the answer of a call that names no time of its own, and between the parts of any answer. */
  callMillis: number;
}

/** Calls to the agent of a node, which fail as those of rest-contract do. */
export class PodAgentConnection {
  readonly agent: TrustedPodAgent;
  private readonly dispatcher: Agent;

  constructor({ host, port, node, secret, callMillis }: PodAgentAddress) {
    const keys = keysOf(node, secret);
    this.dispatcher = new Agent({
      keepAliveTimeout: 30_000,
      connect: { ...clientTls(keys), timeout: Math.min(callMillis, 2_000) },
      maxCachedSessions: 0,
      // How long an answer may take to begin depends on the call.
      headersTimeout: 0,
      bodyTimeout: callMillis,
    });
    const sending = { fetch, init: { dispatcher: this.dispatcher } } as unknown as FetchOptions;
    const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
    const api = connect(PodAgentApi, fetchBackend(url, sending), { timeoutMs: callMillis });
    this.agent = api.trusted({ authorization: bearer(keys.secret) });
  }

  async close(): Promise<void> {
    await this.dispatcher.destroy();
  }
}
