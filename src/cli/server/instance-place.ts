import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../../platform/errors.js';
import { holderOf, releasePidFile, takePidFile } from '../../platform/process/pid-file.js';
import type { Settings } from '../../platform/settings/settings.js';

export const pidFileOf = (folder: string): string => join(folder, 'muster.pid');
/** Commands find the API by it, on whatever port it listens. No secret. */
const addressFileOf = (folder: string): string => join(folder, 'address');
const sharersOf = (dataDir: string): string => join(dataDir, 'schedulers');

interface PlaceOptions {
  withAgent: boolean;
  instanceDir?: string;
}

/**
 * Files in which an instance notes that it runs and where it answers. The one that starts the agent or the database of
 * a data directory has that directory; schedulers that share both with others have a directory each, by which alone
 * they are stopped.
 */
export class InstancePlace {
  readonly folder: string;
  private address: string | undefined;

  constructor(
    private readonly settings: Pick<Settings, 'dataDir' | 'databaseUrl' | 'port'>,
    private readonly options: PlaceOptions,
  ) {
    const { dataDir, databaseUrl, port } = settings;
    const { withAgent, instanceDir } = options;
    const shares = !withAgent && databaseUrl !== undefined;
    this.folder = instanceDir ?? (shares ? join(sharersOf(dataDir), String(port || process.pid)) : dataDir);
  }

  claim(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o711 });
    const holder = takePidFile(pidFileOf(this.folder));
    if (holder === undefined) return;
    const advice = this.options.withAgent ? '' : `; a second scheduler joins it by --join ${this.settings.dataDir}`;
    throw new StartError(`Muster already runs on ${this.folder} (process ${holder})${advice}`);
  }

  tellAddress(url: string): void {
    this.address = `${url}\n`;
    for (const folder of this.told()) {
      // Whole from its first moment: a command may read it.
      const fresh = `${addressFileOf(folder)}.${process.pid}`;
      writeFileSync(fresh, this.address, { mode: 0o644 });
      renameSync(fresh, addressFileOf(folder));
    }
  }

  /** Removes its files. Those that another instance has written meanwhile stay. */
  release(): void {
    for (const folder of [this.folder, this.settings.dataDir]) {
      try {
        if (readFileSync(addressFileOf(folder), 'utf8') === this.address) rmSync(addressFileOf(folder));
      } catch {
        // It did not come as far as to write it.
      }
    }
    releasePidFile(pidFileOf(this.folder));
    if (this.folder === this.settings.dataDir) return;
    try {
      rmdirSync(this.folder);
    } catch {
      // There is something else in it.
    }
  }

  /** The data directory as well while no other instance has it to itself. */
  private told(): string[] {
    const { dataDir } = this.settings;
    if (this.folder === dataDir) return [dataDir];
    return holderOf(pidFileOf(dataDir)) === undefined ? [this.folder, dataDir] : [this.folder];
  }
}

/** Folders of the schedulers that share a data directory and run. */
export function sharersOn(dataDir: string): string[] {
  try {
    const folders = readdirSync(sharersOf(dataDir)).map((name) => join(sharersOf(dataDir), name));
    return folders.filter((folder) => holderOf(pidFileOf(folder)) !== undefined);
  } catch {
    return [];
  }
}
