import { connect } from 'rest-contract';
import { fetchBackend } from 'rest-contract/fetch';
import { AgentApi, bearer, type LeaderAgent, type TrustedAgent } from '../../agent/wire/agent-api.js';
import { AgentLine } from '../../agent/wire/agent-line.js';
import { type Endpoint, readEndpoint, sharedSecret } from '../../agent/state/agent-directory.js';
import { isAlive } from '../../agent/processes/process-identity.js';
import { AgentRefused, AgentUnreachable, answerFrom, ifFound, unlessStale } from '../agent-answers.js';
import type { Epoch } from '../cluster-driver.js';

/** Until the answer of a call that names no time of its own, and between the parts of any answer. */
export const callMillis = 5_000;

/** Calls to the agent of one directory, wherever it listens now. */
export class AgentConnection {
  private readonly line = new AgentLine({ connect: { timeout: 2_000 }, callMillis });
  private secret: { agent: string; value: string } | undefined;

  constructor(private readonly agentDirectory: string) {}

  /** Throws AgentUnreachable or AgentRefused. */
  async ask<T>(question: (agent: TrustedAgent) => Promise<T>): Promise<T> {
    const endpoint = await this.endpoint();
    const url = `http://${endpoint.host}:${endpoint.port}`;
    const authorization = bearer(await this.secretOf(endpoint));
    const agent = connect(AgentApi, fetchBackend(url, this.line.sending), { timeoutMs: callMillis });
    return answerFrom(url, question(agent.trusted({ authorization })));
  }

  /**
   * True when the agent answers a call for which it has to read its disk: one whose threads all wait for a file would
   * go on answering from memory, and could do nothing.
   */
  async answers(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    const files = (api: TrustedAgent) => api.task({ taskId: '-' }).sandbox().root({}, { timeoutMs, signal });
    try {
      await this.ask(files);
      return true;
    } catch (cause) {
      return cause instanceof AgentRefused;
    }
  }

  /** undefined: there is no such thing. */
  find<T>(question: (agent: TrustedAgent) => Promise<T>): Promise<T | undefined> {
    return ifFound(this.ask(question));
  }

  /** Throws StaleEpochError when the agent has seen a higher epoch. */
  askAsLeader<T>(epoch: Epoch, question: (agent: LeaderAgent) => Promise<T>): Promise<T> {
    return unlessStale(
      epoch,
      this.ask((agent) => question(agent.leader({ epoch }))),
    );
  }

  close(): Promise<void> {
    return this.line.close();
  }

  /** Read again for each new agent: its directory may have been emptied before it came. */
  private async secretOf({ pid, startTime }: Endpoint): Promise<string> {
    const agent = `${pid} ${startTime}`;
    if (this.secret?.agent !== agent) this.secret = { agent, value: await sharedSecret(this.agentDirectory) };
    return this.secret.value;
  }

  /** Only of a live agent: another program may listen on the port of a dead one, and must not be told the secret. */
  private async endpoint(): Promise<Endpoint> {
    const endpoint = await readEndpoint(this.agentDirectory).catch(() => undefined);
    if (!endpoint || !isAlive(endpoint)) throw new AgentUnreachable(`No agent runs on ${this.agentDirectory}`);
    return endpoint;
  }
}
