import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { IndexViewDto } from './dto/index-view.dto.js';
import { readStaticFile, type StaticFile, typeOf } from './static-files.js';

/** Names of the files that the page needs; empty where the dashboard is not built. */
export type AssetNames = Pick<IndexViewDto, 'appJsPath' | 'appCssPath' | 'vendorJsPath'>;

interface Chunk {
  readonly file: string;
  readonly name?: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
}

/** The files of the dashboard, read once. Their names change with their content, so that browsers may keep them. */
export class DashboardFiles {
  readonly names: AssetNames = { appJsPath: '', appCssPath: '', vendorJsPath: '' };
  /**
   * Names of the files that the script of the page imports: a browser that knows them fetches all at once and not one
   * after the other.
   */
  readonly imports: readonly string[] = [];
  private readonly byName = new Map<string, StaticFile>();

  constructor(folder: string | undefined) {
    const manifestFile = folder === undefined ? undefined : join(folder, '.vite', 'manifest.json');
    if (folder === undefined || manifestFile === undefined || !existsSync(manifestFile)) return;
    const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, Chunk>;
    const chunks = Object.values(manifest);
    for (const name of readdirSync(folder)) {
      if (typeOf(name) !== undefined) this.byName.set(name, readStaticFile(folder, name));
    }
    const entry = chunks.find(({ isEntry }) => isEntry);
    const vendor = chunks.find(({ name }) => name === 'vendor');
    const styles = chunks.find(({ file }) => file.endsWith('.css'));
    this.names = {
      appJsPath: entry?.file ?? '',
      appCssPath: styles?.file ?? '',
      vendorJsPath: vendor?.file ?? '',
    };
    this.imports = (entry?.imports ?? []).flatMap((key) => manifest[key]?.file ?? []);
  }

  find(name: string): StaticFile | undefined {
    return this.byName.get(name);
  }
}
