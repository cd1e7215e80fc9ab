import { connect } from 'rest-contract';
import { fetchBackend } from 'rest-contract/fetch';
import { bearer } from '../agent/wire/agent-api.js';
import { AgentLine } from '../agent/wire/agent-line.js';
import { bracketed } from '../platform/addresses.js';
import { clientTls, keysOf } from './keys.js';
import { PodAgentApi, type TrustedPodAgent } from './pod-agent-api.js';

interface PodAgentAddress {
  host: string;
  port: number;
  /** Name of the node. */
  node: string;
  /** Secret of the installation. */
  secret: string;
  /** Until the answer of a call that names no time of its own, and between the parts of any answer. */
  callMillis: number;
}

/** Calls to the agent of a node, which fail as those of rest-contract do. */
export class PodAgentConnection {
  readonly agent: TrustedPodAgent;
  private readonly line: AgentLine;

  constructor({ host, port, node, secret, callMillis }: PodAgentAddress) {
    const keys = keysOf(node, secret);
    const connecting = { ...clientTls(keys), timeout: Math.min(callMillis, 2_000), maxCachedSessions: 0 };
    this.line = new AgentLine({ connect: connecting, callMillis });
    const url = `https://${bracketed(host)}:${port}`;
    const api = connect(PodAgentApi, fetchBackend(url, this.line.sending), { timeoutMs: callMillis });
    this.agent = api.trusted({ authorization: bearer(keys.secret) });
  }

  close(): Promise<void> {
    return this.line.close();
  }
}
