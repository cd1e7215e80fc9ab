import { Readable } from 'node:stream';
import { podContainerName, podSandboxPath } from '../../pod-agent/pod-agent-api.js';
import { MachineUnreachableError, type SandboxEntry, type TaskSandbox } from '../cluster-driver.js';
import { ApiRefused, ApiUnreachable, type KubernetesApi } from './kubernetes-api.js';
import { mainOf, millisOf, type Pod } from './objects.js';

/** Output of a container, on both of its streams: the only one of a pod's files without an agent on its node. */
const fileName = 'stdout';
/** Kubelets begin a new file long before, and only the newest is shown. */
const longestLogBytes = 64 * 2 ** 20;

/** The output of a task as the one file of its sandbox. There is no way to ask for a part of it: each read goes through all of it. */
export class PodLog implements TaskSandbox {
  readonly root = podSandboxPath;
  private readonly path: string;

  constructor(
    private readonly api: KubernetesApi,
    collection: string,
    private readonly pod: Pod,
    private readonly slaveId: string,
  ) {
    this.path = `${collection}/${pod.metadata?.name}/log`;
  }

  async list(path: string): Promise<SandboxEntry[] | undefined> {
    if (path !== '') return undefined;
    const size = await this.through(() => undefined);
    return [{ name: fileName, mtime: Math.floor(this.changedAt() / 1_000), size, mode: '-rw-r-----' }];
  }

  async read(path: string, offset: number, length: number): Promise<{ data: Buffer; size: number } | undefined> {
    if (path !== fileName) return undefined;
    const parts: Buffer[] = [];
    const size = await this.through((chunk, from) => parts.push(partOf(chunk, from, offset, length)));
    return { data: Buffer.concat(parts), size };
  }

  async download(
    path: string,
    offset = 0,
    length = Number.POSITIVE_INFINITY,
  ): Promise<{ stream: Readable; size: number; mtime: number } | undefined> {
    if (path !== fileName) return undefined;
    // What comes after this is not part of what was announced.
    const size = await this.through(() => undefined);
    const asked = Math.min(length, Math.max(0, size - offset));
    // Asked for when it is read: what is never read would hold a connection.
    const open = () => this.chunks();
    async function* part(): AsyncGenerator<Buffer> {
      let from = 0;
      for await (const chunk of await open()) {
        const wanted = partOf(chunk, from, offset, asked);
        if (wanted.length > 0) yield wanted;
        from += chunk.length;
        if (from >= offset + asked) return;
      }
    }
    return { stream: Readable.from(part(), { objectMode: false }), size, mtime: this.changedAt() };
  }

  /** Answers the length of the whole. */
  private async through(take: (chunk: Buffer, from: number) => void): Promise<number> {
    let length = 0;
    for await (const chunk of await this.chunks()) {
      take(chunk, length);
      length += chunk.length;
    }
    return length;
  }

  private async chunks(): Promise<AsyncIterable<Buffer>> {
    try {
      return await this.api.stream(this.path, { query: { container: podContainerName, limitBytes: longestLogBytes } });
    } catch (cause) {
      // Its container waits for its image, or its node has no file of it any more.
      if (cause instanceof ApiRefused && (cause.status === 400 || cause.status === 404)) return nothing();
      if (cause instanceof ApiUnreachable || (cause instanceof ApiRefused && cause.status >= 500))
        throw new MachineUnreachableError(this.slaveId, { cause });
      throw cause;
    }
  }

  private changedAt(): number {
    const { running, terminated } = mainOf(this.pod.status?.containerStatuses)?.state ?? {};
    const began = millisOf(running?.startedAt) ?? millisOf(this.pod.metadata?.creationTimestamp) ?? 0;
    return millisOf(terminated?.finishedAt) ?? began;
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** Part of a chunk beginning at `from` that lies in the requested range. */
function partOf(chunk: Buffer, from: number, offset: number, length: number): Buffer {
  return chunk.subarray(Math.max(0, offset - from), Math.max(0, offset + length - from));
}
