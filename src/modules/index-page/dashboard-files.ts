import { createRequire } from 'node:module';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { IndexViewDto } from './dto/index-view.dto.js';

/** Names of the files that the page needs; empty where the dashboard is not built. */
export type AssetNames = Pick<IndexViewDto, 'appJsPath' | 'appCssPath' | 'vendorJsPath'>;

/** Packings of a file that the build made, the smallest first. */
export const encodings = ['br', 'gzip'] as const;
type Encoding = (typeof encodings)[number];
const endings: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };

export interface DashboardFile {
  readonly type: string;
  readonly body: Buffer;
  readonly packed: Partial<Record<Encoding, Buffer>>;
}

interface Chunk {
  readonly file: string;
  readonly name?: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};
const typeOf = (name: string): string | undefined => types[/\.\w+$/.exec(name)?.[0] ?? ''];

/** Directory of the built dashboard: beside this program, as the package that it is. */
export function dashboardFolder(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('muster-dashboard/package.json')), 'dist');
  } catch {
    return undefined; // not installed
  }
}

/** The files of the dashboard, read once. Their names change with their content, so that browsers may keep them. */
export class DashboardFiles {
  readonly names: AssetNames = { appJsPath: '', appCssPath: '', vendorJsPath: '' };
  /**
   * Names of the files that the script of the page imports: a browser that knows them fetches all at once and not one
   * after the other.
   */
  readonly imports: readonly string[] = [];
  private readonly byName = new Map<string, DashboardFile>();

  constructor(folder: string | undefined) {
    const manifestFile = folder === undefined ? undefined : join(folder, '.vite', 'manifest.json');
    if (folder === undefined || manifestFile === undefined || !existsSync(manifestFile)) return;
    const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, Chunk>;
    const chunks = Object.values(manifest);
    for (const name of readdirSync(folder)) {
      const type = typeOf(name);
      if (type !== undefined) this.byName.set(name, fileIn(folder, name, type));
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

  find(name: string): DashboardFile | undefined {
    return this.byName.get(name);
  }
}

function fileIn(folder: string, name: string, type: string): DashboardFile {
  const packed: DashboardFile['packed'] = {};
  for (const encoding of encodings) {
    const path = join(folder, name + endings[encoding]);
    if (existsSync(path)) packed[encoding] = readFileSync(path);
  }
  return { type, body: readFileSync(join(folder, name)), packed };
}
