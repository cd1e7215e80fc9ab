import { readFileSync } from 'node:fs';

/** The text of a file of the project, which lies above the sources as above the build. */
export function projectFile(path: string): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    try {
      return readFileSync(new URL(path, folder), 'utf8');
    } catch (cause) {
      if (folder.pathname === '/') throw new Error(`${path} is missing`, { cause });
    }
  }
}
