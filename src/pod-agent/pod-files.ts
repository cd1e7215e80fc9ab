import type { SandboxEntry } from '../cluster/cluster-driver.js';
import { isResultOf } from '../agent/logs/schedule.js';
import { SandboxFiles } from '../agent/sandbox/sandbox-files.js';
import type { ReadableFiles } from '../agent/server/sandbox-operations.js';
import { streams } from './cri-lines.js';

/** The second one of each is of an older version, which kept one former file. */
const outputNames: readonly string[] = streams.flatMap((stream) => [stream, `${stream}.1`]);

/** Directory of the results of rotations, beside the output that they are of. */
export const resultsName = 'logs';

/**
 * The files of a task in a pod: its sandbox, and over it what the agent collected of its output: `stdout` and `stderr` at its top, and
 * in the directory `logs` what was rotated of them.
 */
export class PodFiles implements ReadableFiles {
  private readonly sandbox: SandboxFiles;
  private readonly output: SandboxFiles;

  constructor(
    /** Directory of the sandbox. */
    readonly root: string,
    output: string,
    /** Takes in what the task has written by now. */
    private readonly freshen: () => Promise<void>,
  ) {
    this.sandbox = new SandboxFiles(root);
    this.output = new SandboxFiles(output);
  }

  exists = (): Promise<boolean> => this.sandbox.exists();

  async list(path: string): Promise<SandboxEntry[] | undefined> {
    const names = namesOf(path);
    if (isOfOutput(names)) return undefined;
    const entries = await this.sandbox.list(path);
    if (names.length > 1 || (names.length === 1 && names[0] !== resultsName)) return entries;
    await this.freshen();
    const isOutput = ({ name }: SandboxEntry) => isOfOutput([...names, name]);
    const others = (entries ?? []).filter((entry) => !isOutput(entry));
    const hasDirectory = others.some(({ name }) => name === resultsName) || !(await this.hasResults());
    const output = ((await this.output.list(path)) ?? []).filter(
      (entry) => isOutput(entry) || (names.length === 0 && entry.name === resultsName && !hasDirectory),
    );
    if (!entries && output.length === 0) return undefined;
    return [...others, ...output].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async read(path: string, offset: number, length: number) {
    return (await this.placeFor(path)).read(path, offset, length);
  }

  async open(path: string) {
    return (await this.placeFor(path)).open(path);
  }

  private async hasResults(): Promise<boolean> {
    const results = (await this.output.list(resultsName)) ?? [];
    return results.some(({ name }) => isOfOutput([resultsName, name]));
  }

  private async placeFor(path: string): Promise<SandboxFiles> {
    if (!isOfOutput(namesOf(path))) return this.sandbox;
    await this.freshen();
    return this.output;
  }
}

const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

/** A path that leaves the sandbox finds nothing in either place. */
const isOfOutput = ([first = '', second = '']: readonly string[]): boolean =>
  first === resultsName ? streams.some((stream) => isResultOf(stream, second)) : outputNames.includes(first);
