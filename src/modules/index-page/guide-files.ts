import { existsSync, readdirSync } from 'node:fs';
import { readStaticFile, type StaticFile, typeOf } from './static-files.js';

/** The documentation as its build made it: the names of all files at once, each file when it is first asked for. */
export class GuideFiles {
  private readonly names: ReadonlySet<string>;
  private readonly read = new Map<string, StaticFile>();

  constructor(private readonly folder: string | undefined) {
    const isBuilt = folder !== undefined && existsSync(folder);
    const all = isBuilt ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
    this.names = new Set(all.map((name) => name.replaceAll('\\', '/')).filter((name) => typeOf(name) !== undefined));
  }

  get isBuilt(): boolean {
    return this.names.has('index.html');
  }

  /** By its name as the build wrote it: no other path leads to a file. */
  find(name: string): StaticFile | undefined {
    if (this.folder === undefined || !this.names.has(name)) return undefined;
    const file = this.read.get(name) ?? readStaticFile(this.folder, name);
    this.read.set(name, file);
    return file;
  }
}
