import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Request, Response } from 'express';

/** Packings of a file that its build made, the smallest first. */
const encodings = ['br', 'gzip'] as const;
type Encoding = (typeof encodings)[number];
const endings: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };

export interface StaticFile {
  readonly type: string;
  readonly body: Buffer;
  readonly packed: Partial<Record<Encoding, Buffer>>;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.webp': 'image/webp',
};
/** undefined: browsers are not sent such files. */
export const typeOf = (name: string): string | undefined => types[extname(name)];

/** Where the build of a package that browsers are served puts it; undefined: the package is not installed. */
export function builtFolder(name: 'muster-dashboard' | 'muster-guide'): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'dist');
  } catch {
    return undefined;
  }
}

export function readStaticFile(folder: string, name: string): StaticFile {
  const packed: StaticFile['packed'] = {};
  for (const encoding of encodings) {
    const path = join(folder, name + endings[encoding]);
    if (existsSync(path)) packed[encoding] = readFileSync(path);
  }
  return { type: typeOf(name) ?? 'application/octet-stream', body: readFileSync(join(folder, name)), packed };
}

/** The name of an asset changes with its content, so browsers keep it; they ask for other files again. */
export function sendStaticFile(request: Request, response: Response, file: StaticFile, isAsset: boolean): void {
  // The build has packed them, better than there is time for here.
  const encoding = encodings.find((each) => file.packed[each] && request.acceptsEncodings(each));
  const caching = isAsset ? 'public, max-age=31536000, immutable' : 'no-cache';
  response.set('Cache-Control', caching).vary('Accept-Encoding').type(file.type);
  if (encoding) response.set('Content-Encoding', encoding);
  response.send((encoding && file.packed[encoding]) ?? file.body);
}
