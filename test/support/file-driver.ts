import { Readable } from 'node:stream';
import {
  MachineUnreachableError,
  type AgentTaskList,
  type ClusterDriver,
  type KillAnswer,
  type LaunchAnswer,
  type MachineSnapshot,
  type MachineUsage,
  type ShellCommandAnswer,
  type SandboxView,
  type TaskSandbox,
  type TaskStatistics,
} from '../../src/cluster/cluster-driver.js';

/** A cluster on which nothing runs, but whose tasks have files and figures, for tests of what is read from machines. */
export class FileDriver implements ClusterDriver {
  readonly name = 'simulated';
  /** By task id: path below the sandbox to content. Folders are those that the paths name. */
  readonly files = new Map<string, Map<string, Buffer>>();
  /** Paths of files that only those who ask for ALL see. */
  readonly startFiles = new Set<string>();
  readonly figures = new Map<string, TaskStatistics>();
  readonly unreachable = new Set<string>();
  /** Modification time of every file, in whole seconds. */
  mtime = 1_700_000_000;

  put(taskId: string, path: string, content: string | Buffer): void {
    const files = this.files.get(taskId) ?? new Map<string, Buffer>();
    this.files.set(taskId, files.set(path, Buffer.from(content)));
  }

  async sandbox(taskId: string, slaveId: string, view: SandboxView = 'ALL'): Promise<TaskSandbox | undefined> {
    if (this.unreachable.has(slaveId)) throw new MachineUnreachableError(slaveId);
    const all = this.files.get(taskId);
    if (!all) return undefined;
    const isHidden = (path: string): boolean => view === 'OF_TASK' && this.startFiles.has(path);
    const files = [...all.keys()].some(isHidden) ? new Map([...all].filter(([path]) => !isHidden(path))) : all;
    return {
      root: sandboxRoot(taskId),
      list: async (path) => this.list(files, path),
      read: async (path, offset, length) => {
        const content = files.get(path);
        return content && { data: content.subarray(offset, offset + length), size: content.length };
      },
      download: async (path, offset = 0, length) => {
        const content = files.get(path);
        if (!content) return undefined;
        const part = content.subarray(offset, length === undefined ? undefined : offset + length);
        return { stream: Readable.from([part]), size: content.length, mtime: this.mtime * 1000 };
      },
    };
  }

  private list(files: Map<string, Buffer>, path: string) {
    const prefix = path === '' ? '' : `${path}/`;
    const entries = new Map<string, { name: string; mtime: number; size: number; mode: string }>();
    for (const [file, content] of files) {
      if (!file.startsWith(prefix)) continue;
      const [name, ...below] = file.slice(prefix.length).split('/') as [string, ...string[]];
      const isFile = below.length === 0;
      const mode = isFile ? '-rw-r--r--' : 'drwxr-xr-x';
      entries.set(name, { name, mtime: this.mtime, size: isFile ? content.length : 4096, mode });
    }
    return entries.size > 0 ? [...entries.values()] : undefined;
  }

  async statistics(taskId: string, slaveId: string): Promise<TaskStatistics | undefined> {
    if (this.unreachable.has(slaveId)) throw new MachineUnreachableError(slaveId);
    return this.figures.get(taskId);
  }

  async machineUsage(slaveId: string): Promise<MachineUsage | undefined> {
    if (this.unreachable.has(slaveId)) throw new MachineUnreachableError(slaveId);
    return undefined;
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}
  whyUnreachable = async (): Promise<undefined> => undefined;
  machines = (): MachineSnapshot[] => [];
  launch = async (): Promise<LaunchAnswer[]> => [];
  async withdraw(): Promise<string[]> {
    return [];
  }

  kill = async (): Promise<KillAnswer> => 'GONE';
  runCommand = async (): Promise<ShellCommandAnswer> => 'UNKNOWN';
  reconcile = async (): Promise<AgentTaskList[]> => [];
}

export const sandboxRoot = (taskId: string): string => `/var/lib/agent/tasks/${taskId}`;
