import { fileHeaders, paths, taskPath, type SandboxAnswer, type SandboxListAnswer } from '../../agent/protocol.js';
import type { SandboxEntry, TaskSandbox } from '../cluster-driver.js';
import type { AgentConnection } from './agent-connection.js';

const callMillis = 5_000;

/** undefined: the agent has no files of this task. */
export async function openSandbox(agent: AgentConnection, taskId: string): Promise<TaskSandbox | undefined> {
  const found = await agent.call<SandboxAnswer>(taskPath(paths.sandbox, taskId), { timeoutMillis: callMillis });
  return found && new LocalSandbox(agent, taskId, found.root);
}

class LocalSandbox implements TaskSandbox {
  constructor(
    private readonly agent: AgentConnection,
    private readonly taskId: string,
    readonly root: string,
  ) {}

  async list(path: string): Promise<SandboxEntry[] | undefined> {
    const options = { query: { path }, timeoutMillis: callMillis };
    return (await this.agent.call<SandboxListAnswer>(taskPath(paths.sandboxList, this.taskId), options))?.entries;
  }

  async read(path: string, offset: number, length: number): Promise<{ data: Buffer; size: number } | undefined> {
    const options = { query: { path, offset, length }, timeoutMillis: callMillis };
    const response = await this.agent.open(taskPath(paths.sandboxRead, this.taskId), options);
    if (!response) return undefined;
    return { data: Buffer.from(await response.body.arrayBuffer()), size: Number(response.headers[fileHeaders.size]) };
  }

  async download(path: string, offset = 0, length?: number) {
    const query = { path, offset, ...(length !== undefined && { length }) };
    const options = { query, timeoutMillis: callMillis };
    const response = await this.agent.open(taskPath(paths.sandboxDownload, this.taskId), options);
    if (!response) return undefined;
    return {
      stream: response.body,
      size: Number(response.headers[fileHeaders.size]),
      mtime: Number(response.headers[fileHeaders.mtime]),
    };
  }
}
