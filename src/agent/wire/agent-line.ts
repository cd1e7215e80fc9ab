import type { FetchOptions } from 'rest-contract/fetch';
import { Agent, fetch, type RequestInit as FetchInit } from 'undici';

interface LineOptions {
  /** Options of a connection: within `timeout` milliseconds, and over TLS if keys are given. */
  connect: Agent.Options['connect'];
  /** Between the parts of an answer. */
  callMillis: number;
}

/** Connections to an agent, and calls of rest-contract that go over them. */
export class AgentLine {
  readonly sending: FetchOptions;
  private readonly dispatcher: Agent;

  constructor({ connect, callMillis }: LineOptions) {
    this.dispatcher = new Agent({
      keepAliveTimeout: 30_000,
      connect,
      // How long an answer may take to begin depends on the call.
      headersTimeout: 0,
      bodyTimeout: callMillis,
    });
    this.sending = { fetch: (url, init) => fetch(url, { ...(init as FetchInit), dispatcher: this.dispatcher }) };
  }

  close(): Promise<void> {
    return this.dispatcher.destroy();
  }
}
