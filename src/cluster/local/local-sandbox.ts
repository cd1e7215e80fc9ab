import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { SandboxEntry, TaskSandbox } from '../cluster-driver.js';
import type { TrustedAgent } from '../../agent/agent-api.js';
import type { AgentConnection } from './agent-connection.js';

/** undefined: the agent has no files of this task. */
export async function openSandbox(agent: AgentConnection, taskId: string): Promise<TaskSandbox | undefined> {
  const found = await agent.find((api) => api.task({ taskId }).sandbox().root());
  return found && new LocalSandbox(agent, taskId, found.root);
}

class LocalSandbox implements TaskSandbox {
  constructor(
    private readonly agent: AgentConnection,
    private readonly taskId: string,
    readonly root: string,
  ) {}

  list(path: string): Promise<SandboxEntry[] | undefined> {
    return this.agent.find((api) => this.files(api).list({ path }));
  }

  read(path: string, offset: number, length: number): Promise<{ data: Buffer; size: number } | undefined> {
    return this.agent.find(async (api) => {
      const { content, size } = await this.files(api).read({ path, offset, length });
      return { data: await buffer(content), size };
    });
  }

  /** May take as long as it likes as long as it moves. */
  async download(path: string, offset = 0, length?: number) {
    const file = await this.agent.find((api) => this.files(api).download({ path, offset, length }));
    return file && { stream: Readable.from(file.content), size: file.size, mtime: file.mtime };
  }

  private files(agent: TrustedAgent) {
    return agent.task({ taskId: this.taskId }).sandbox();
  }
}
