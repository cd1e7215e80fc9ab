import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { TrustedAgent } from '../agent/wire/agent-api.js';
import type { SandboxEntry, SandboxView, TaskSandbox } from './cluster-driver.js';

/** Operations of an agent on one task. */
export type AgentTask = ReturnType<TrustedAgent['task']>;
/** Asks the agent; undefined: there is no such thing. */
type Find = <T>(question: (task: AgentTask) => Promise<T>) => Promise<T | undefined>;

/** undefined: the agent has no files of this task. */
export async function openAgentSandbox(find: Find, view: SandboxView): Promise<TaskSandbox | undefined> {
  const found = await find((task) => task.sandbox().root());
  return found && new AgentSandbox(find, view, found.root);
}

class AgentSandbox implements TaskSandbox {
  constructor(
    private readonly find: Find,
    private readonly view: SandboxView,
    readonly root: string,
  ) {}

  list(path: string): Promise<SandboxEntry[] | undefined> {
    return this.find((task) => task.sandbox().list({ path, view: this.view }));
  }

  read(path: string, offset: number, length: number): Promise<{ data: Buffer; size: number } | undefined> {
    return this.find(async (task) => {
      const { content, size } = await task.sandbox().read({ path, offset, length, view: this.view });
      return { data: await buffer(content), size };
    });
  }

  /** May take as long as it likes as long as it moves. */
  async download(path: string, offset = 0, length?: number) {
    const file = await this.find((task) => task.sandbox().download({ path, offset, length, view: this.view }));
    return file && { stream: Readable.from(file.content), size: file.size, mtime: file.mtime };
  }
}
