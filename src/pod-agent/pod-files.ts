import type { SandboxEntry } from '../cluster/cluster-driver.js';
import { SandboxFiles } from '../agent/sandbox/sandbox-files.js';
import type { ReadableFiles } from '../agent/server/sandbox-operations.js';
import { streams } from './cri-lines.js';

const outputNames: readonly string[] = streams.flatMap((stream) => [stream, `${stream}.1`]);

/** The files of a task in a pod: its sandbox, and over what lies at its top what the agent collected of its output. */
export class PodFiles implements ReadableFiles {
  private readonly sandbox: SandboxFiles;
  private readonly output: SandboxFiles;

  constructor(
    /** Directory of the sandbox. */
    readonly root: string,
    logs: string,
    /** Takes in what the task has written by now. */
    private readonly freshen: () => Promise<void>,
  ) {
    this.sandbox = new SandboxFiles(root);
    this.output = new SandboxFiles(logs);
  }

  exists = (): Promise<boolean> => this.sandbox.exists();

  async list(path: string): Promise<SandboxEntry[] | undefined> {
    if (isOfOutput(path)) return undefined;
    const entries = await this.sandbox.list(path);
    if (!entries || namesOf(path).length > 0) return entries;
    await this.freshen();
    const output = ((await this.output.list('')) ?? []).filter(({ name }) => outputNames.includes(name));
    const others = entries.filter(({ name }) => !outputNames.includes(name));
    return [...others, ...output].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async read(path: string, offset: number, length: number) {
    return (await this.placeFor(path)).read(path, offset, length);
  }

  async open(path: string) {
    return (await this.placeFor(path)).open(path);
  }

  private async placeFor(path: string): Promise<SandboxFiles> {
    if (!isOfOutput(path)) return this.sandbox;
    await this.freshen();
    return this.output;
  }
}

const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

/** At the top of it. A path that leaves the sandbox finds nothing in either place. */
const isOfOutput = (path: string): boolean => outputNames.includes(namesOf(path)[0] ?? '');
